// Writes the traces that come with the project: `node scripts/make-sample.mjs [FOLDER]` (default demo/public).
// They are invented here, from a seed: the same bytes on every machine.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const BLOCK_TOKENS = 16;

/** Files by name. */
export function makeSamples() {
  return {
    'sample.pagefence.jsonl': makeConversations({ seed: 20, conversations: 56 }),
    'hazard.pagefence.jsonl': makeHazard({ seed: 7, conversations: 10, rounds: 4 }),
  };
}

/**
 * Conversations of several turns that begin with one of a few system prompts and overlap in time. A turn's prompt is
 * everything said before and the new message.
 */
function makeConversations({ seed, conversations }) {
  const random = seededRandom(seed);
  const nextBlock = counter();
  const systemPrompts = [70, 118, 150, 201].map((tokens) => {
    const shared = { tokens, blocks: [] };
    fillBlocks(shared, nextBlock);
    return shared;
  });
  const requests = [];
  let startMs = 0;
  for (let index = 0; index < conversations; index += 1) {
    startMs += random(3000, 27000);
    const system = systemPrompts[random(0, systemPrompts.length - 1)];
    const conversation = { tokens: system.tokens, blocks: [...system.blocks] };
    const turns = random(3, 9);
    let arrivalMs = startMs;
    for (let turn = 1; turn <= turns; turn += 1) {
      conversation.tokens += random(8, 48);
      fillBlocks(conversation, nextBlock);
      const outputTokens = random(16, 64);
      requests.push(requestOf(`c${pad(index + 1)}.t${turn}`, arrivalMs, conversation, outputTokens));
      conversation.tokens += outputTokens;
      // Most people answer at once; some come back when their pages are long gone.
      arrivalMs += random(1, 8) === 1 ? random(120000, 400000) : random(4000, 30000);
    }
  }
  requests.sort((a, b) => a.arrival_ms - b.arrival_ms || (a.id < b.id ? -1 : 1));
  const note =
    'Invented conversations with shared system prompts. Sized for a pool of 96 pages and 320 host slots.';
  return formatTrace({ note }, requests);
}

/**
 * Distinct conversations that take turns in a pool that holds two of them: each one's pages are claimed by others
 * soon after it finishes, and its blocks are asked for again when only the host tier can have them.
 */
function makeHazard({ seed, conversations, rounds }) {
  const random = seededRandom(seed);
  const nextBlock = counter();
  const all = Array.from({ length: conversations }, () => ({ tokens: random(83, 108), blocks: [] }));
  const requests = [];
  let arrivalMs = 0;
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, conversation] of all.entries()) {
      fillBlocks(conversation, nextBlock);
      const outputTokens = random(2, 6);
      requests.push(requestOf(`h${pad(index + 1)}.t${round}`, arrivalMs, conversation, outputTokens));
      conversation.tokens += outputTokens + random(8, 12);
      arrivalMs += random(400, 900);
    }
  }
  const note =
    'Invented conversations that push each other out of a small pool. Sized for a pool of 16 pages, 128 host slots ' +
    'and stores of one page a step: without the fence some are stored after their pages were claimed again.';
  return formatTrace({ note }, requests);
}

/** Gives every full block an id. A partial block has none until it is full. */
function fillBlocks(conversation, nextBlock) {
  while ((conversation.blocks.length + 1) * BLOCK_TOKENS <= conversation.tokens)
    conversation.blocks.push(nextBlock());
}

function requestOf(id, arrivalMs, conversation, outputTokens) {
  return {
    id,
    arrival_ms: arrivalMs,
    prompt_tokens: conversation.tokens,
    output_tokens: outputTokens,
    blocks: [...conversation.blocks],
  };
}

function formatTrace(header, requests) {
  const head = { format: 'pagefence-trace', version: 1, block_tokens: BLOCK_TOKENS, ...header };
  return `${[head, ...requests].map((line) => JSON.stringify(line)).join('\n')}\n`;
}

function counter() {
  let next = 0;
  return () => {
    next += 1;
    return next - 1;
  };
}

function pad(number) {
  return String(number).padStart(2, '0');
}

/** Whole numbers from `low` to `high`, both included. A 32-bit xorshift: shifts and xors alone, so exact anywhere. */
function seededRandom(seed) {
  let state = (seed * 0x9e3779b1) >>> 0 || 1;
  return (low, high) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return low + (state % (high - low + 1));
  };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const folder = process.argv[2] ?? fileURLToPath(new URL('../demo/public', import.meta.url));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(makeSamples())) writeFileSync(join(folder, name), text);
}
