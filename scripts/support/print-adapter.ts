/** Prints the name of this runtime's adapter. Deno runs this file as it is. */
import process from 'node:process';
import { acquireAdapter } from '../../src/runtime/node.ts';

try {
  const { description } = await acquireAdapter();
  console.log(description);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
