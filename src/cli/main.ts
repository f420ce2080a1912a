/** The command line: which command, with which options, and what an error means to the caller. */
import { Command, CommanderError, Option } from 'commander';
import { version } from '../../package.json';
import { ConfigError, InputError, InvariantError, PagefenceError } from '../errors.ts';
import { WORD_BYTES } from '../units.ts';
import { missingPermission } from '../runtime/permission.ts';
import { writeText, type CliIo } from './io.ts';
import { bytes, count, decimal, list, oneOf, promptIds, seedRange } from './numbers.ts';
import { addReplayOptions, requireFitting, type ReplayCliOptions } from './replay-options.ts';
import type { BenchGpuCliOptions } from './bench-command.ts';
import type { ConformanceCliOptions } from './conformance-command.ts';
import type { ExploreCliOptions } from './explore-command.ts';
import type { GenerateCliOptions } from './generate-command.ts';
import type { SimulateCliOptions } from './simulate-command.ts';

/** Bad input or usage. Everything else that goes wrong is `STATUS_FAILED`. */
const STATUS_BAD_INPUT = 2;
const STATUS_FAILED = 1;

const EXIT_STATUS = `
Exit status:
  0    done, and every byte that was read was right
  1    a mismatch was found, or the run could not be done (no adapter, device lost, output not written)
  2    bad input: an option, a file, a line of it; in Deno, a permission that is missing
  130  interrupted; the report covers what was done
A pipe whose reader leaves early changes nothing.
`;

const EXAMPLES = `
Examples:
  $ pagefence replay
      the bundled sample, on this machine's adapter or a software one
  $ pagefence replay conversation_trace.jsonl --pool-pages 2048 --host-slots 20000
      a Mooncake trace: 2,048 pages on the device, 20,000 in host memory
  $ pagefence replay --worker simulated --concurrency 4 --json trace.jsonl.gz
      without a GPU, four requests at once, for a program to read
  $ pagefence replay --policy-only --policy lru,arc,min --capacity 1000,10000 trace.jsonl
      hit rates of cache policies alone
`;

const ABOUT_REPLAY = [
  'Replay traces of requests through a paged KV cache: pages on the device, a host tier behind it, and the fence ' +
    'between them. Every page is filled with a known pattern and checked whenever a request reads it.',
  'FILE is a pagefence trace, Mooncake JSONL or an agent session, plain or gzip-compressed; its content tells which. ' +
    'One block of the trace is one page, so all files must have blocks of one size. Without FILE a sample that comes ' +
    'with the package is replayed. Sizes are in bytes or with KiB, MiB or GiB.',
].join('\n\n');

const ABOUT_SIMULATE =
  'One seed decides a layout of one to five groups, all sizes, who arrives with which prompt, who is aborted, and which ' +
  'transfers fail. The simulated worker runs stores as late as the plan allows. After each step every byte that was read ' +
  'or stored, and the books of cache, scheduler, connector and host tier, are checked; at the end everything must be home. ' +
  'The same seed gives the same run everywhere. The first failure is cut down to the requests that it takes and told step ' +
  'by step.';

const ABOUT_EXPLORE =
  'Recurrent states that are offloaded and rings that are not share a few pages; there is one staging buffer of one page. ' +
  'In each step what is under way arrives or does not, and one request may be aborted. All of it is tried, the shortest ' +
  'runs first, and states that were seen are not gone on from. Exit status 1 if a fault was found.';

const ABOUT_CONFORMANCE =
  'Every promise of the cache stands on something that the WebGPU specification says: that a copy touches its range and no ' +
  'other byte, that work runs in the order of its submits, that a new buffer reads zero. Each case checks one of these on ' +
  'this runtime and adapter, and says which promise stands on it. A failure that the specification allows, or one of this ' +
  'runtime that is known, is a deviation; it is listed with its reason.';

const ABOUT_BENCH_GPU =
  'Every way to zero, copy, store and load pages, at several sizes, neighbouring and scattered; both directions at once; ' +
  'and what the machine can do at best, which the rates are shares of. The ways take turns, and medians are shown. Close ' +
  'what else uses the machine.';

const BENCH_GPU_STATUS = `
Exit status:
  0    done
  1    there is no adapter, or the device refused the memory or was lost
  2    bad input
  130  interrupted; the result covers what was measured
`;

const CONFORMANCE_STATUS = `
Exit status:
  0    no case failed; deviations may be listed
  1    a case failed, or there is no adapter
  2    bad input
  130  interrupted; the result covers the cases that ran
`;

const ABOUT_GENERATE =
  'Several prompts run as one batch. Prefixes that they share are computed once; what a page holds is read by all. The ' +
  'text is the same whatever the sizes of pages, pool and host memory.';

const SIMULATE_STATUS = `
Exit status:
  0  nothing was found; with --table: every guard is missed in some seed
  1  something was found; with --table: some guard is not missed
  2  bad input
`;

/** Runs one command line (without the program's name) and returns the exit status. Never rejects. */
export async function main(argv: readonly string[], io: CliIo): Promise<number> {
  const shown: string[] = [];
  let status = 0;
  const program = createProgram({
    io,
    show: (text) => shown.push(text),
    exit: (code) => {
      status = code;
    },
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    status = explain(error, io);
  }
  try {
    await writeText(io.stdout, shown.join(''));
  } catch (error) {
    status = explain(error, io);
  }
  return status;
}

function createProgram(host: {
  io: CliIo;
  show: (text: string) => void;
  exit: (status: number) => void;
}): Command {
  const { io, show, exit } = host;
  const program = new Command('pagefence')
    .description('A paged KV cache for WebGPU, from the command line.')
    .version(version, '-V, --version')
    .helpOption('-h, --help', 'show this')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: show,
      writeErr: (text) => io.stderr.write(text),
      // There are none. To find out, commander would read variables, which Deno permits to nobody who has not asked.
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .addHelpText('after', '\n`pagefence replay --help` lists the options of that command, and so on.');

  const replay = program
    .command('replay [FILE...]')
    .summary('replay traces through GPU pages, a host tier and the fence')
    .description(ABOUT_REPLAY)
    .helpOption('-h, --help', 'show this')
    .showHelpAfterError('pagefence replay --help lists the options')
    .addHelpText('after', EXAMPLES + EXIT_STATUS)
    .action(async (paths: string[], options: ReplayCliOptions, command: Command) => {
      requireFitting(command, options);
      // Imported here, so that --help loads nothing and --policy-only nothing of the GPU's.
      if (options.policyOnly === true) {
        const { policyCommand } = await import('./policy-command.ts');
        await policyCommand(paths, options, io);
        return;
      }
      const { replayCommand } = await import('./replay-command.ts');
      exit(await replayCommand(paths, options, io));
    });
  addReplayOptions(replay);
  addSimulate(program, host);
  addExplore(program, host);
  addConformance(program, host);
  addBench(program, host);
  addGenerate(program, host);
  return program;
}

function addSimulate(program: Command, { io, exit }: { io: CliIo; exit: (status: number) => void }): void {
  program
    .command('simulate')
    .summary('run random lives of an engine and look for broken rules')
    .description(ABOUT_SIMULATE)
    .helpOption('-h, --help', 'show this')
    .showHelpAfterError('pagefence simulate --help lists the options')
    .option('--seed <n>', 'one seed', count({ min: 0 }))
    .option('--seeds <range>', 'seeds A..B, both included (default: 1..100)', seedRange)
    .addOption(
      new Option('--steps <n>', 'steps in which requests arrive').argParser(count({ min: 1 })).default(200),
    )
    .addOption(
      new Option('--fence <form>', 'complete, scheduled-and-loads or off')
        .argParser(oneOf(['complete', 'scheduled-and-loads', 'off']))
        .default('complete'),
    )
    .option('--without <guard>', 'take one guard away; an unknown name lists them all')
    .option('--table', 'take each guard away in turn, and list what shows it')
    .option('--json', 'results for a program to read')
    .addHelpText('after', SIMULATE_STATUS)
    .action(async (options: SimulateCliOptions) => {
      const { simulateCommand } = await import('./simulate-command.ts');
      exit(await simulateCommand(options, io));
    });
}

function addExplore(program: Command, { io, exit }: { io: CliIo; exit: (status: number) => void }): void {
  program
    .command('explore')
    .summary('try every interleaving of a small world')
    .description(ABOUT_EXPLORE)
    .helpOption('-h, --help', 'show this')
    .showHelpAfterError('pagefence explore --help lists the options')
    .addOption(new Option('--requests <n>', 'requests, 1 to 3').argParser(count({ min: 1 })).default(3))
    .addOption(new Option('--pages <n>', 'usable pages').argParser(count({ min: 3, max: 64 })).default(4))
    .addOption(
      new Option('--fence <form>', 'complete, scheduled-and-loads or off')
        .argParser(oneOf(['complete', 'scheduled-and-loads', 'off']))
        .default('complete'),
    )
    .addOption(
      new Option('--states <n>', 'states to visit at most').argParser(count({ min: 1 })).default(200_000),
    )
    .option('--json', 'the result for a program to read')
    .action(async (options: ExploreCliOptions) => {
      const { exploreCommand } = await import('./explore-command.ts');
      exit(await exploreCommand(options, io));
    });
}

function addConformance(program: Command, { io, exit }: { io: CliIo; exit: (status: number) => void }): void {
  program
    .command('conformance')
    .summary('check that this runtime keeps what the cache builds on')
    .description(ABOUT_CONFORMANCE)
    .helpOption('-h, --help', 'show this')
    .showHelpAfterError('pagefence conformance --help lists the options')
    .option('--only <subject>', 'one subject, or one case by its id; an unknown name lists the subjects')
    .option('--even-fatal', 'run the cases as well that are known to end the process of this runtime')
    .option('--json', 'the result for a program to read')
    .addHelpText('after', CONFORMANCE_STATUS)
    .action(async (options: ConformanceCliOptions) => {
      const { conformanceCommand } = await import('./conformance-command.ts');
      exit(await conformanceCommand(options, io));
    });
}

function addBench(program: Command, { io, exit }: { io: CliIo; exit: (status: number) => void }): void {
  const bench = program
    .command('bench')
    .summary('measure this machine')
    .description('Measure this machine.')
    .helpOption('-h, --help', 'show this')
    .helpCommand(false)
    .showHelpAfterError('pagefence bench gpu --help lists the options');
  bench
    .command('gpu')
    .summary('how fast pages are zeroed, copied, stored and loaded')
    .description(ABOUT_BENCH_GPU)
    .helpOption('-h, --help', 'show this')
    .showHelpAfterError('pagefence bench gpu --help lists the options')
    .option(
      '--page-bytes <n,...>',
      'bytes of a page, one or several (default: 4 KiB to 4 MiB, six sizes)',
      list(bytes({ min: WORD_BYTES, multipleOf: WORD_BYTES })),
    )
    .addOption(
      new Option('--bytes <n>', 'bytes that each run moves; the device holds up to nine times as much')
        .argParser(bytes({ min: WORD_BYTES }))
        .default(64 * 2 ** 20, '64 MiB'),
    )
    .addOption(
      new Option('--runs <n>', 'runs of each way; slow ones have fewer, three at least')
        .argParser(count({ min: 1 }))
        .default(11),
    )
    .option('--json', 'the result for a program to read')
    .addHelpText('after', BENCH_GPU_STATUS)
    .action(async (options: BenchGpuCliOptions) => {
      const { benchGpuCommand } = await import('./bench-command.ts');
      exit(await benchGpuCommand(options, io));
    });
}

function addGenerate(program: Command, { io, exit }: { io: CliIo; exit: (status: number) => void }): void {
  const option = <Value>(flags: string, about: string, parse: (text: string) => Value, value: Value) =>
    new Option(flags, about).argParser(parse).default(value);
  program
    .command('generate [PROMPT...]')
    .summary('generate text with a model whose memory is the paged cache')
    .description(ABOUT_GENERATE)
    .helpOption('-h, --help', 'show this')
    .showHelpAfterError('pagefence generate --help lists the options')
    .requiredOption('--model <dir>', 'folder or address of config.json, model.safetensors and tokenizer.json')
    .option('--prompt-ids <ids>', 'a prompt as token ids, 1,2,3; once for each prompt', promptIds)
    .addOption(option('--temperature <t>', '0 takes the most likely token', decimal({ min: 0, max: 100 }), 0))
    .option('--top-k <n>', 'choose among so many tokens', count({ min: 1 }))
    .addOption(
      option(
        '--top-p <p>',
        'choose among tokens that reach this probability',
        decimal({ min: 1e-6, max: 1 }),
        1,
      ),
    )
    .addOption(option('--seed <n>', 'of the dice', count({ min: 0, max: 2 ** 32 - 1 }), 0))
    .addOption(
      option('--n <n>', 'samples of each prompt, with seeds from --seed on', count({ min: 1, max: 1024 }), 1),
    )
    .addOption(option('--max-tokens <n>', 'tokens to generate for each prompt', count({ min: 1 }), 64))
    .addOption(option('--page-tokens <n>', 'tokens a page', count({ min: 1 }), 16))
    .addOption(option('--pool-pages <n>', 'pages on the device', count({ min: 2 }), 256))
    .addOption(option('--host-slots <n>', 'pages in host memory', count({ min: 0 }), 0))
    .addOption(
      option('--draft-tokens <n>', "tokens that the model's drafter proposes a step", count({ min: 0 }), 0),
    )
    .addOption(
      new Option('--worker <kind>', 'webgpu, or simulated: on the CPU')
        .argParser(oneOf(['webgpu', 'simulated']))
        .default('webgpu'),
    )
    .option('--json', 'ids, text, hits and timings for a program to read')
    .action(async (prompts: string[], options: GenerateCliOptions) => {
      const { generateCommand } = await import('./generate-command.ts');
      exit(await generateCommand(prompts, options, io));
    });
}

/** Tells the error and returns its exit status. */
function explain(error: unknown, io: CliIo): number {
  // Commander has printed its message already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : STATUS_BAD_INPUT;
  const missing = missingPermission(error);
  if (missing) {
    io.stderr.write(
      `pagefence: Deno denies ${missing.access}; add ${missing.flag} behind deno run, or -A for all that this command takes\n`,
    );
    return STATUS_BAD_INPUT;
  }
  const known = error instanceof PagefenceError && !(error instanceof InvariantError);
  const text = known
    ? error.message
    : error instanceof Error
      ? (error.stack ?? error.message)
      : String(error);
  io.stderr.write(
    known ? `pagefence: ${text}\n` : `pagefence: a fault of pagefence itself; please report it\n${text}\n`,
  );
  return error instanceof ConfigError || error instanceof InputError ? STATUS_BAD_INPUT : STATUS_FAILED;
}
