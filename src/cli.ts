/** The `pagefence` command. What it does is in `cli/`; this is its connection to the process. */
import process from 'node:process';
import { processIo } from './cli/io.ts';
import { main } from './cli/main.ts';

process.exitCode = await main(process.argv.slice(2), processIo());
