/** A recorded run as a file: JSON with a version, and a sum over its text that tells whether all of it is there. */
import { z } from 'zod';
import {
  InputError,
  InvariantError,
  RunLog,
  runPartsSchema,
  type RunParts,
  type TraceRequest,
} from '../../../src/index.ts';
import type { LoadedTrace } from '../run/load-trace.ts';
import type { Counted } from '../run/look.ts';
import type { RunSettings } from '../run/settings.ts';

export const FORMAT = 'pagefence-run';
export const VERSION = 1;

export interface SavedRun {
  readonly trace: LoadedTrace;
  readonly settings: RunSettings;
  /** Where its pages were, in words. */
  readonly place: string;
  readonly moment: number;
  readonly bookmarks: readonly number[];
  readonly log: RunLog<Counted>;
}

const whole = z.int('a whole number').min(0, 'a whole number of at least 0');
const text = z.string('a string');

const settingsSchema = z.strictObject({
  poolPages: whole.min(2, 'a whole number of at least 2'),
  hostSlots: whole,
  policy: z.enum(['lru', 'arc-tier'], '"lru" or "arc-tier"'),
  concurrency: whole,
  storePagesPerStep: whole,
  outputTokens: z.union([z.literal(1), z.literal('trace')], '1 or "trace"'),
  fence: z.enum(['complete', 'off'], '"complete" or "off"'),
  worker: z.enum(['auto', 'simulated'], '"auto" or "simulated"'),
});

const runSchema = z.strictObject({
  settings: settingsSchema,
  place: text,
  moment: whole,
  bookmarks: z.array(whole),
  trace: z.strictObject({
    name: text,
    blockTokens: whole.min(1, 'a whole number of at least 1'),
    requests: z.array(
      z.strictObject({
        id: text,
        blocks: z.array(whole),
        promptTokens: whole.min(1, 'a whole number of at least 1'),
        outputTokens: whole,
      }),
    ),
  }),
  recording: runPartsSchema,
});

export function writeRun({ trace, settings, place, moment, bookmarks, log }: SavedRun): string {
  const { name, blockTokens } = trace;
  const requests = trace.requests.map(({ id, blocks, promptTokens, outputTokens }) => {
    return { id, blocks: [...blocks], promptTokens, outputTokens };
  });
  const recording = log.toParts();
  const run = { settings, place, moment, bookmarks, trace: { name, blockTokens, requests }, recording };
  return JSON.stringify({ format: FORMAT, version: VERSION, sum: sumOf(JSON.stringify(run)), run });
}

/** Whether a text begins as such a file does. */
export function isRunFile(beginning: string): boolean {
  return beginning.includes(`"${FORMAT}"`);
}

/** Throws `InputError` that names the file, the field and what was expected. */
export function readRun(name: string, content: string): SavedRun {
  const refuse = (field: string, expected: string, got: string): never => {
    throw new InputError(`${name}: ${field}: expected ${expected}, got ${got}`);
  };
  const file = json(name, content);
  if (file?.format !== FORMAT) {
    refuse('format', `"${FORMAT}", as saved by this page`, shown(file?.format));
  }
  if (file?.version !== VERSION) {
    refuse(
      'version',
      `${VERSION}; open it with the version of pagefence that saved it`,
      shown(file?.version),
    );
  }
  const result = runSchema.safeParse(file?.run, { reportInput: true });
  if (!result.success) {
    const [issue] = result.error.issues;
    return refuse(['run', ...issue.path].join('.'), issue.message, shown(issue.input));
  }
  if (file?.sum !== sumOf(JSON.stringify(file?.run))) {
    refuse('sum', 'the sum of what was saved', `another one: the file was changed or damaged`);
  }
  const { trace, recording, settings, place, bookmarks, moment } = result.data;
  const log = logOf(name, recording);
  if (moment > log.length) refuse('run.moment', `at most ${log.length}`, String(moment));
  const requests = trace.requests.map((request, ordinal): TraceRequest => {
    const blocks = Uint32Array.from(request.blocks);
    const source = { file: trace.name, line: null, index: ordinal };
    return { ...request, blocks, ordinal, blockTokens: trace.blockTokens, arrivalMs: null, source };
  });
  return { trace: { ...trace, requests }, settings, place, bookmarks, moment, log };
}

interface RunFile {
  readonly format?: unknown;
  readonly version?: unknown;
  readonly sum?: unknown;
  readonly run?: unknown;
}

function json(name: string, content: string): RunFile | null {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === 'object' ? value : null;
  } catch {
    throw new InputError(
      `${name}: file: expected a whole JSON document, got text that ends early or is none`,
    );
  }
}

function logOf(name: string, recording: RunParts): RunLog<Counted> {
  try {
    return new RunLog<Counted>(recording);
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    throw new InputError(
      `${name}: run.recording: expected steps that follow on each other: ${error.message}`,
    );
  }
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const json = JSON.stringify(value);
  return json.length <= 60 ? json : `${json.slice(0, 60)}…`;
}

/** FNV-1a, 32 bits, over UTF-16 units. It finds damage, not intent. */
function sumOf(content: string): string {
  let sum = 0x811c9dc5;
  for (let i = 0; i < content.length; i += 1) sum = Math.imul(sum ^ content.charCodeAt(i), 0x01000193);
  return (sum >>> 0).toString(16).padStart(8, '0');
}
