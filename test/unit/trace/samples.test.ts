import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { lruHits } from '../../../src/trace/policies/lru.ts';
import { readReferences } from '../../../src/trace/references.ts';
import { readAll } from './helpers.ts';

const ROOT = new URL('../../../', import.meta.url);

function sampleText(name: string): string {
  return readFileSync(new URL(`demo/public/${name}`, ROOT), 'utf8');
}

async function referencesOf(name: string): ReturnType<typeof readReferences> {
  return readReferences([{ name, chunks: [sampleText(name)] }]);
}

describe('bundled samples', () => {
  it('are what the generator makes', async () => {
    const generator = (await import(new URL('scripts/make-sample.mjs', ROOT).href)) as {
      makeSamples: () => Record<string, string>;
    };
    const made = generator.makeSamples();
    expect(Object.keys(made)).toEqual(['sample.pagefence.jsonl', 'hazard.pagefence.jsonl']);
    for (const [name, text] of Object.entries(made)) {
      expect(sampleText(name) === text, `${name} differs; run: node scripts/make-sample.mjs`).toBe(true);
      expect(text.length).toBeLessThan(150_000);
    }
  });

  it('has a few hundred turns of conversations that share beginnings', async () => {
    const requests = await readAll([sampleText('sample.pagefence.jsonl')]);
    expect(requests.length).toBeGreaterThan(200);
    const firstTurns = requests.filter(({ id }) => id.endsWith('.t1'));
    expect(firstTurns.length).toBeGreaterThan(40);
    expect(new Set(firstTurns.map(({ blocks }) => blocks[0])).size).toBe(4);
    // The largest prompt, and the page for its first output token, must leave room in the pool for others.
    expect(Math.max(...requests.map(({ promptTokens }) => Math.ceil((promptTokens + 1) / 16)))).toBeLessThan(
      64,
    );
  });

  it('has hits for both tiers, and more blocks than either holds', async () => {
    const { references, uniqueBlocks } = await referencesOf('sample.pagefence.jsonl');
    const device = lruHits(references, { capacity: 95, uniqueBlocks });
    const both = lruHits(references, { capacity: 320, uniqueBlocks });
    expect(device).toBeGreaterThan(1000);
    expect(both - device).toBeGreaterThan(1000);
    expect(uniqueBlocks).toBeGreaterThan(95 + 320);
  });

  it('the hazard sample never hits a pool of 16 pages and always the host tier', async () => {
    const requests = await readAll([sampleText('hazard.pagefence.jsonl')]);
    const { references, uniqueBlocks } = await referencesOf('hazard.pagefence.jsonl');
    expect(requests).toHaveLength(40);
    expect(lruHits(references, { capacity: 15, uniqueBlocks })).toBe(0);
    // Everything but the first sight of each block hits a host tier of 128 slots.
    expect(lruHits(references, { capacity: 128, uniqueBlocks })).toBe(references.length - uniqueBlocks);
    expect(
      Math.max(...requests.map(({ promptTokens }) => Math.ceil((promptTokens + 1) / 16))),
    ).toBeLessThanOrEqual(15);
  });
});
