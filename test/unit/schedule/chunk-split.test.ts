/** Cases H36 to H38: where chunks of a prompt end, so that recurrent states stand where they can be found. */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema } from '../../../src/config.ts';
import { resolveLayout } from '../../../src/config/layout.ts';
import { chunkEnd } from '../../../src/schedule/chunk-split.ts';

function chunks(
  pageTokens: number,
  hashTokens: number,
  promptTokens: number,
  stepTokensMax: number,
): number[] {
  const common = { pageBytes: 64 } as const;
  const layout = resolveLayout(
    cacheConfigSchema.parse({
      pages: 100,
      groups: [
        { kind: 'full-attention', tokensPerPage: pageTokens, ...common },
        { kind: 'recurrent', tokensPerPage: pageTokens, ...common },
      ],
      matchTokens: hashTokens,
    }),
  );
  const sizes: number[] = [];
  for (let start = 0; start < promptTokens;) {
    const end = Math.min(promptTokens, start + stepTokensMax);
    const length = promptTokens;
    const next = chunkEnd(layout, { start, end, length, promptTokens, sharedPrefixTokens: 0, stepTokensMax });
    sizes.push(next - start);
    start = next;
  }
  return sizes;
}

describe('chunks end', () => {
  it('H36: at the last page border, and at the last boundary that can be found', () => {
    expect(chunks(512, 32, 10_000, 8192)).toEqual([8192, 1536, 256, 16]);
    expect(chunks(512, 512, 10_000, 8192)).toEqual([8192, 1536, 272]);
  });

  it('H37, H38: at page borders though a page takes several steps', () => {
    expect(chunks(11_392, 11_392, 30_000, 8192)).toEqual([8192, 3200, 8192, 3200, 7216]);
    expect(chunks(512, 512, 1300, 384)).toEqual([384, 128, 384, 128, 276]);
  });
});
