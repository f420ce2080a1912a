/** Traces to replay: the bundled ones, and files of one's own. */
import { IdSpace, InputError, readTrace, type TraceRequest } from '../../../src/index.ts';
import { settingsFor, type RunSettings } from './settings.ts';

export interface LoadedTrace {
  readonly name: string;
  readonly requests: readonly TraceRequest[];
  /** Tokens of a block of the trace, and so of a page. */
  readonly blockTokens: number;
}

export interface Sample {
  readonly id: 'conversations' | 'hazard';
  readonly title: string;
  readonly file: string;
  readonly about: string;
  readonly settings: RunSettings;
}

export const SAMPLES: readonly Sample[] = [
  {
    id: 'conversations',
    title: 'Conversations',
    file: 'sample.pagefence.jsonl',
    about:
      '315 requests of 56 conversations that share four system prompts. Four run at once in a pool of 96 pages, so pages are shared, evicted, stored and loaded back.',
    settings: {
      poolPages: 96,
      hostSlots: 320,
      policy: 'lru',
      concurrency: 4,
      storePagesPerStep: 1,
      outputTokens: 'trace',
      fence: 'complete',
      worker: 'auto',
    },
  },
  {
    id: 'hazard',
    title: 'Hazard',
    file: 'hazard.pagefence.jsonl',
    about:
      'Ten conversations that push each other out of 16 pages, with one page stored a step: pages are claimed again while a store still has to read them. With the fence, no mismatch; without it, many.',
    settings: {
      poolPages: 16,
      hostSlots: 128,
      policy: 'lru',
      concurrency: 1,
      storePagesPerStep: 1,
      outputTokens: 'trace',
      fence: 'complete',
      worker: 'auto',
    },
  },
];

export async function loadSample(sample: Sample): Promise<LoadedTrace> {
  const response = await fetch(`./${sample.file}`);
  if (!response.ok || response.body === null) {
    throw new InputError(
      `${sample.file}: file: expected the bundled sample, got status ${response.status}; serve the folder of this page whole`,
    );
  }
  return load([{ name: sample.file, chunks: response.body }], sample.file);
}

/** Reads files in the given order. Throws `InputError` that names file, line and field. */
export async function loadFiles(
  files: readonly File[],
): Promise<{ trace: LoadedTrace; settings: RunSettings }> {
  const name = files.length === 1 ? files[0].name : `${files.length} files`;
  const trace = await load(
    files.map((file) => ({ name: file.name, chunks: file.stream() })),
    name,
  );
  return { trace, settings: settingsFor(trace) };
}

async function load(
  files: readonly { name: string; chunks: ReadableStream<Uint8Array> }[],
  name: string,
): Promise<LoadedTrace> {
  const ids = new IdSpace();
  const requests: TraceRequest[] = [];
  for (const file of files) {
    for await (const request of readTrace(file, { ids })) {
      const expected = requests[0]?.blockTokens ?? request.blockTokens;
      if (request.blockTokens !== expected) {
        throw new InputError(
          `${file.name}: block size: expected ${expected} tokens as in the files before, got ${request.blockTokens}; open such files one at a time`,
        );
      }
      requests.push(request);
    }
  }
  return { name, requests, blockTokens: requests[0].blockTokens };
}
