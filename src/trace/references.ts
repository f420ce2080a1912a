/** Block references of whole traces in one flat array, as the replay of policies needs them. */
import { BadLines } from './bad-lines.ts';
import { IdSpace } from './id-space.ts';
import { readLisLine } from './lis.ts';
import {
  noneFound,
  openTrace,
  requestsOf,
  type OpenedTrace,
  type ReadOptions,
  type TraceFile,
} from './read-trace.ts';

export interface BlockReferences {
  /** Dense block ids: each request's blocks front to back, requests in order, a partial last block included. */
  readonly references: Uint32Array;
  /** Every id is below it. */
  readonly uniqueBlocks: number;
  /** Requests, or lines of a list of page references. */
  readonly requests: number;
}

/** References of all files, one after the other. Throws `InputError` as `readTrace` does. */
export async function readReferences(
  files: Iterable<TraceFile> | AsyncIterable<TraceFile>,
  options: ReadOptions = {},
): Promise<BlockReferences> {
  const ids = options.ids ?? new IdSpace();
  const badLines = options.badLines ?? new BadLines({ skip: false });
  const references = new GrowingList();
  let requests = 0;
  for await (const file of files) {
    const trace = await openTrace(file, options);
    if (trace.format === 'references') {
      requests += await addPageRuns(file.name, trace, { ids, badLines, references });
      continue;
    }
    for await (const request of requestsOf(file.name, trace, { ids, badLines })) {
      references.append(request.blocks);
      requests += 1;
    }
  }
  return { references: references.toArray(), uniqueBlocks: ids.size, requests };
}

/** Returns how many lines were good. */
async function addPageRuns(
  file: string,
  trace: OpenedTrace,
  options: { ids: IdSpace; badLines: BadLines; references: GrowingList },
): Promise<number> {
  const { ids, badLines, references } = options;
  const skippedBefore = badLines.count;
  const add = (id: number): void => references.push(id);
  let lines = 0;
  for await (const batch of trace.batches) {
    for (const line of batch) {
      const run = badLines.guard(() => readLisLine(file, line));
      if (!run) continue;
      ids.visitRun(`references:${file}`, run.start, run.count, add);
      lines += 1;
    }
  }
  if (lines === 0) throw noneFound(file, 'page reference', badLines, skippedBefore);
  return lines;
}

class GrowingList {
  private items = new Uint32Array(1024);
  private length = 0;

  push(item: number): void {
    this.reserve(1);
    this.items[this.length] = item;
    this.length += 1;
  }

  append(items: Uint32Array): void {
    this.reserve(items.length);
    this.items.set(items, this.length);
    this.length += items.length;
  }

  toArray(): Uint32Array {
    return this.items.slice(0, this.length);
  }

  private reserve(count: number): void {
    if (this.length + count <= this.items.length) return;
    const larger = new Uint32Array(Math.max(this.items.length * 2, this.length + count));
    larger.set(this.items);
    this.items = larger;
  }
}
