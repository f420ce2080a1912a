/** Which format a file has, by its first lines. Names of files are not asked. */
import { excerpt, placeOf, refuseFault, unexpected } from './expectation.ts';
import type { Line } from './line-batches.ts';
import { LIS_LINE } from './lis.ts';

/** `references`: page references without tokens, which only `--policy-only` can replay. */
export type TraceFormat = 'pagefence' | 'mooncake' | 'agent-session' | 'references';

/** Lines that are enough to tell. More than one, so that a bad first line can be skipped. */
export const HEAD_LINES = 16;

const HEAD_CHARS_MAX = 2 ** 16;

/**
 * Keys are looked for, not parsed: a session on one line may be large, one over many lines does not parse by line,
 * and a line that is cut off still shows what it was meant to be.
 */
const SESSION_KEY = /"(?:block_size|hash_id_scope|requests)"\s*:/;
const MOONCAKE_KEY = /"(?:timestamp|input_length|output_length|hash_ids)"\s*:/;
const HEADER_KEY = /^\s*\{.*"format"\s*:/;

/** Throws `InputError` that shows the first line, where it is none of the formats. `head` has a line that is not blank. */
export function detectFormat(file: string, head: readonly Line[]): TraceFormat {
  const heads = head.map((line) => line.text.slice(0, HEAD_CHARS_MAX));
  const first = head.find((line) => line.fault !== null || line.text.trim() !== '')!;
  if (HEADER_KEY.test(first.text.slice(0, HEAD_CHARS_MAX))) return 'pagefence';
  if (heads.some((text) => LIS_LINE.test(text))) return 'references';
  if (heads.some((text) => SESSION_KEY.test(text))) return 'agent-session';
  if (heads.some((text) => MOONCAKE_KEY.test(text))) return 'mooncake';
  refuseFault(file, first);
  const formats = 'a pagefence trace, Mooncake JSONL, an agent session or page references';
  throw unexpected(placeOf(file, first), 'format', formats, excerpt(first.text));
}
