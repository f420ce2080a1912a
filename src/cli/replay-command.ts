/** `pagefence replay`: a trace through pages. */
import { createEngine } from '../create-engine.ts';
import type { Engine } from '../engine.ts';
import { DeviceError } from '../errors.ts';
import { BadLines } from '../trace/bad-lines.ts';
import { Replay } from '../trace/replay.ts';
import type { TraceRequest } from '../trace/trace-request.ts';
import { openDevice } from './device.ts';
import { writeText, type CliIo } from './io.ts';
import { createProgress, NO_PROGRESS, type Progress } from './progress.ts';
import { engineConfigOf, type ReplayCliOptions } from './replay-options.ts';
import { replayText } from './report-text.ts';
import { resultOf, type ReplayResult } from './report.ts';
import { ResidentMemory } from './resident-memory.ts';
import { openTraces, readRequests, skippedNotes, type TraceInput } from './traces.ts';

export const STATUS_OK = 0;
export const STATUS_FAILED = 1;
export const STATUS_INTERRUPTED = 130;

/** Runs the replay and prints its outcome. Returns the exit status. */
export async function replayCommand(
  paths: readonly string[],
  options: ReplayCliOptions,
  io: CliIo,
): Promise<number> {
  const controller = new AbortController();
  const stopListening = io.onInterrupt(() => {
    controller.abort();
    io.stderr.write('\nstopping after this step; interrupt once more to end at once\n');
  });
  try {
    const input = await openTraces(paths);
    const result = await replayFiles(input, { options, io, signal: controller.signal });
    await writeText(io.stdout, options.json === true ? `${JSON.stringify(result)}\n` : replayText(result));
    if (controller.signal.aborted) return STATUS_INTERRUPTED;
    return result.interrupted !== null || (result.mismatches ?? 0) > 0 ? STATUS_FAILED : STATUS_OK;
  } finally {
    stopListening();
  }
}

interface Run {
  readonly options: ReplayCliOptions;
  readonly io: CliIo;
  readonly signal: AbortSignal;
}

async function replayFiles(input: TraceInput, run: Run): Promise<ReplayResult> {
  const { options, io, signal } = run;
  const quiet = options.json === true;
  const badLines = new BadLines({ skip: options.skipBadLines === true });
  const requests = await readRequests(input.files, { badLines, limit: options.limit, signal });
  const notes = skippedNotes(badLines);
  if (input.bundled)
    notes.unshift('no FILE given: replaying the bundled sample, with a pool and a host tier of its size');
  if (!quiet) for (const note of notes) io.stderr.write(`${note}\n`);

  const tokensPerPage = requests[0]?.blockTokens ?? 1;
  const config = engineConfigOf(options, { tokensPerPage, bundled: input.bundled });
  const opened = options.worker === 'webgpu' ? await openDevice(config) : null;
  try {
    const engine = await createEngine(config, { device: opened?.device, tuning: options.tuning });
    const progress = quiet
      ? NO_PROGRESS
      : await createProgress({ stream: io.stderr, total: requests.length });
    const { report, residentBytesMax } = await replayRequests(engine, requests, { ...run, progress });
    return resultOf({
      report,
      config: engine.config,
      files: input.files.map(({ name }) => name),
      concurrency: options.concurrency,
      outputTokens: options.outputTokens,
      limit: options.limit,
      linesSkipped: badLines.count,
      residentBytesMax,
      worker: options.worker,
      tuning: 'tuning' in engine.worker ? engine.worker.tuning : null,
      strategies: 'strategies' in engine.worker ? engine.worker.strategies : null,
      adapter: opened && { name: opened.adapter, software: opened.software },
    });
  } finally {
    opened?.device.destroy();
  }
}

async function replayRequests(
  engine: Engine,
  requests: readonly TraceRequest[],
  run: Run & { progress: Progress },
) {
  const { options, signal, progress } = run;
  const memory = new ResidentMemory();
  signal.addEventListener('abort', () => progress.stop());
  try {
    const report = await new Replay({
      engine,
      requests,
      concurrency: options.concurrency,
      outputTokens: options.outputTokens,
      signal,
      onStep: (_, { requestsDone, requestsRefused }) => {
        memory.sample();
        progress.update(requestsDone + requestsRefused);
      },
    }).start();
    return { report, residentBytesMax: memory.max() };
  } finally {
    progress.stop();
    await closeEngine(engine);
  }
}

/** A lost device has nothing left to give back, and the report says so already. */
async function closeEngine(engine: Engine): Promise<void> {
  try {
    await engine.close();
  } catch (error) {
    if (!(error instanceof DeviceError)) throw error;
  }
}
