/**
 * A prefix's pages as bytes that outlive the generator:
 *
 *   8 bytes of name | version, bytes of the header, 32 bits each | bytes in all, 64 bits | header as JSON
 *   | token ids, 32 bits each | chunks, in the header's order | SHA-256 of everything before
 *
 * Numbers are least significant byte first. The salt is not in it, only what it makes of the prefix's hash.
 */
import { z } from 'zod';
import type { Engine } from '../engine.ts';
import { ConfigError, InputError } from '../errors.ts';
import { chunkBytes, isWholePrefix, prefixSequence, putPrefix, readPrefix } from '../prefix-chunks.ts';
import { groupId, WORD_BYTES } from '../units.ts';
import { digest, hexOf, modelFingerprint } from './fingerprint.ts';
import type { Model } from './model.ts';

/** Whose prefix it is. */
export interface SnapshotOptions {
  /** The salt of the requests that computed it. Default: none. */
  readonly salt?: string;
}

const NAME = new TextEncoder().encode('PAGEFENC');
const VERSION = 1;
const FIXED_BYTES = 24;
const HASH_BYTES = 32;

const count = z.int().min(0);
const headerSchema = z.strictObject({
  model: z.strictObject({ name: z.string(), hash: z.string() }),
  layout: z.record(z.string(), z.string()),
  /** Hash of the prefix, salt included. */
  prefix: z.string(),
  tokens: count,
  /** Group and number of each chunk. */
  chunks: z.array(z.tuple([count, count])),
});
type Header = z.output<typeof headerSchema>;

/** Writes what is cached of a prompt's beginning. The engine must be idle. Throws `ConfigError` where nothing is. */
export async function takeSnapshot(
  engine: Engine,
  model: Model,
  { tokens: promptIds, salt }: SnapshotOptions & { readonly tokens: readonly number[] },
): Promise<ArrayBuffer> {
  const sequence = prefixSequence(engine, { tokens: promptIds, salt });
  const { tokens, chunks } = await readPrefix(engine, sequence);
  if (tokens === 0) {
    throw new ConfigError(
      `none of the prompt's ${promptIds.length} tokens are cached in whole pages of ${engine.config.cache.tokensPerPage} ` +
        'under this salt; generate with the prompt first, or use smaller pages',
    );
  }
  const header: Header = {
    model: { name: model.name, hash: await modelFingerprint(model) },
    layout: layoutOf(engine),
    prefix: sequence.prefixKey(tokens, groupId(0)),
    tokens,
    chunks: chunks.map(({ group, chunk }) => [group, chunk]),
  };
  const head = new TextEncoder().encode(JSON.stringify(header));
  const chunksStart = FIXED_BYTES + head.length + tokens * WORD_BYTES;
  const bytesTotal = chunks.reduce((sum, { bytes }) => sum + bytes.length, chunksStart) + HASH_BYTES;
  const file = new Uint8Array(bytesTotal);
  const view = new DataView(file.buffer);
  file.set(NAME);
  view.setUint32(8, VERSION, true);
  view.setUint32(12, head.length, true);
  view.setBigUint64(16, BigInt(bytesTotal), true);
  file.set(head, FIXED_BYTES);
  for (let i = 0; i < tokens; i += 1)
    view.setUint32(FIXED_BYTES + head.length + i * WORD_BYTES, promptIds[i], true);
  let at = chunksStart;
  for (const { bytes } of chunks) {
    file.set(bytes, at);
    at += bytes.length;
  }
  file.set(await digest(file.subarray(0, at)), at);
  return file.buffer;
}

/** Whatever was read of a snapshot, all of it checked but the salt and the room for it. */
export interface ReadSnapshot {
  readonly header: Header;
  readonly tokens: Uint32Array;
  /** The chunks' bytes, one behind the other. */
  readonly payload: Uint8Array;
}

/** Reads and checks a snapshot for an engine and its model. Throws `InputError` with what does not fit. */
export async function readSnapshot(engine: Engine, model: Model, buffer: ArrayBuffer): Promise<ReadSnapshot> {
  if (!(buffer instanceof ArrayBuffer)) {
    throw new ConfigError(
      `a snapshot is an ArrayBuffer, not ${Object.prototype.toString.call(buffer)}; give the one that snapshot() gave`,
    );
  }
  // A copy: whoever has the buffer may write to it while this waits.
  const file = new Uint8Array(buffer.slice(0));
  const headerBytes = requireIntact(file);
  const end = file.length - HASH_BYTES;
  if (hexOf(await digest(file.subarray(0, end))) !== hexOf(file.subarray(end))) {
    throw refusal('its bytes are not those that were written (SHA-256 differs); take it anew');
  }
  const header = headerOf(file.subarray(FIXED_BYTES, FIXED_BYTES + headerBytes));
  await requireModel(header, model);
  requireLayout(header, engine);
  const places = header.chunks.map(([group, chunk]) => ({ group: groupId(group), chunk }));
  const tokensStart = FIXED_BYTES + headerBytes;
  const payloadStart = tokensStart + header.tokens * WORD_BYTES;
  if (
    !isWholePrefix(engine, header.tokens, places) ||
    places.reduce((sum, { group }) => sum + chunkBytes(engine, group), payloadStart) !== end
  ) {
    throw refusal(`its ${places.length} chunks are not those of ${header.tokens} tokens; take it anew`);
  }
  const view = new DataView(file.buffer);
  const tokens = Uint32Array.from({ length: header.tokens }, (_, i) =>
    view.getUint32(tokensStart + i * WORD_BYTES, true),
  );
  return { header, tokens, payload: file.subarray(payloadStart, end) };
}

/** Puts a snapshot into the host tier of an idle engine: all of it or, where it throws, nothing. Gives its tokens. */
export function putSnapshot(
  engine: Engine,
  { header, tokens, payload }: ReadSnapshot,
  { salt }: SnapshotOptions,
): number {
  const sequence = prefixSequence(engine, { tokens, salt });
  if (sequence.prefixKey(header.tokens, groupId(0)) !== header.prefix) {
    throw refusal(
      `it was taken under another salt than ${salt === undefined ? 'none' : 'the given one'}; give the salt of its requests`,
    );
  }
  let at = 0;
  const chunks = header.chunks.map(([group, chunk]) => {
    const start = at;
    at += chunkBytes(engine, groupId(group));
    return { group: groupId(group), chunk, bytes: payload.subarray(start, at) };
  });
  putPrefix(engine, sequence, chunks);
  return header.tokens;
}

/** Gives the header's length. */
function requireIntact(file: Uint8Array<ArrayBuffer>): number {
  if (NAME.some((byte, i) => file[i] !== byte)) {
    throw refusal(`its ${file.length} bytes do not begin as one does; give the buffer that snapshot() gave`);
  }
  if (file.length < FIXED_BYTES + HASH_BYTES)
    throw refusal(`it ends after ${file.length} bytes; it is truncated`);
  const view = new DataView(file.buffer);
  const version = view.getUint32(8, true);
  if (version !== VERSION) {
    throw refusal(`its version is ${version}, and ${VERSION} is read here; take it anew with this release`);
  }
  const bytesTotal = view.getBigUint64(16, true);
  if (bytesTotal !== BigInt(file.length)) {
    throw refusal(
      `it has ${file.length} of its ${bytesTotal} bytes; it is truncated or has something behind it`,
    );
  }
  const headerBytes = view.getUint32(12, true);
  if (FIXED_BYTES + headerBytes + HASH_BYTES > file.length) {
    throw refusal(`a header of ${headerBytes} bytes exceeds its ${file.length}; take it anew`);
  }
  return headerBytes;
}

function headerOf(bytes: Uint8Array): Header {
  try {
    return headerSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch (cause) {
    throw new InputError('snapshot: its header is malformed; take it anew', { cause });
  }
}

async function requireModel({ model: { name, hash } }: Header, model: Model): Promise<void> {
  const here = await modelFingerprint(model);
  if (hash === here) return;
  throw refusal(
    `it is of model ${name} (${hash.slice(0, 12)}), and this is ${model.name} (${here.slice(0, 12)}); ` +
      'load the very same weights and config.json',
  );
}

function requireLayout({ layout }: Header, engine: Engine): void {
  const here = layoutOf(engine);
  for (const field of new Set([...Object.keys(here), ...Object.keys(layout)])) {
    if (layout[field] === here[field]) continue;
    throw refusal(
      `${field} is ${layout[field] ?? 'not there'} in it and ${here[field] ?? 'not there'} here; ` +
        'make the generator with the options of the one that it was taken from',
    );
  }
}

/** What gives a page's bytes their meaning, each under the name that a refusal tells. */
function layoutOf({ config, cache }: Engine): Record<string, string> {
  const groups = cache.layout.groups.map(
    ({ id, config: group, tokensPerPage, pageBytes }): [string, string] => {
      const window = group.kind === 'sliding-window' ? ` of ${group.windowTokens} tokens` : '';
      const { kind, format } = group;
      return [
        `group ${id}`,
        `${kind}${window}, ${tokensPerPage} tokens and ${pageBytes} bytes a page, ${format}`,
      ];
    },
  );
  return {
    tokensPerPage: String(config.cache.tokensPerPage),
    pagesPerSlot: String(config.offload.pagesPerSlot),
    'the hash unit': String(cache.layout.hashTokens),
    ...Object.fromEntries(groups),
  };
}

function refusal(problem: string): InputError {
  return new InputError(`snapshot: ${problem}`);
}
