import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import {
  engineConfigSchema,
  parseConfig,
  type EngineConfig,
  type EngineConfigInput,
} from '../../src/config.ts';
import { ConfigError } from '../../src/errors.ts';

const cache = { pages: 8, pageBytes: 64, tokensPerPage: 4 };
const parse = (input: unknown) => parseConfig(engineConfigSchema, input, 'engine configuration');

/** `true` for equal types, else `never`, which nothing can be assigned to. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;
type Plain<T> = T extends object ? { [Key in keyof T]: Plain<T[Key]> } : T;

describe('an engine configuration', () => {
  it('is documented as it is checked: the interfaces equal what the schema takes and gives', () => {
    const output: Same<Plain<EngineConfig>, Plain<z.output<typeof engineConfigSchema>>> = true;
    const input = ((): EngineConfigInput => null as never) satisfies () => z.input<typeof engineConfigSchema>;
    const back = ((): z.input<typeof engineConfigSchema> => null as never) satisfies () => EngineConfigInput;
    expect([output, input(), back()]).toEqual([true, null, null]);
  });

  it('needs the pool alone; everything else has a default', () => {
    const config = parse({ cache });
    expect(config.cache).toMatchObject({ zeroing: 'always', prefixCaching: true, salt: '' });
    expect(config.offload).toMatchObject({ slots: 0, policy: 'lru', fence: 'complete', pagesPerSlot: 1 });
    expect(config.transfer.acknowledgementLag).toBe(2);
    expect(config.witness).toBe(true);
  });

  it('takes bytes in place of pages: as many whole ones as fit', () => {
    const bytes = { pageBytes: 64, tokensPerPage: 4 };
    expect(parse({ cache: { ...bytes, poolBytes: 8 * 64 + 63 } }).cache).toMatchObject({ pages: 8 });
    expect(parse({ cache: { ...bytes, poolBytes: 2 * 64 } }).cache).not.toHaveProperty('poolBytes');
    const groups = [
      { kind: 'full-attention' as const, tokensPerPage: 4, pageBytes: 64 },
      { kind: 'sliding-window' as const, tokensPerPage: 4, pageBytes: 256, windowTokens: 8 },
    ];
    expect(parse({ cache: { groups, poolBytes: 4096 } }).cache.pages).toBe(16);
    expect(parse({ cache: { ...bytes, poolBytes: 2 ** 50 } }).cache.pages).toBe(2 ** 26);
  });

  it.each([
    [
      { cache: { pageBytes: 64, tokensPerPage: 4 } },
      /cache\.pages: neither is given; give either pages or poolBytes/,
    ],
    [{ cache: { ...cache, poolBytes: 640 } }, /cache\.pages: 8 beside poolBytes 640; give either/],
    [
      { cache: { pageBytes: 64, tokensPerPage: 4, poolBytes: 127 } },
      /cache\.poolBytes: 127 bytes hold 1 pages of 64 bytes; give at least 128/,
    ],
    [{ cache: { ...cache, pageBytes: 6 } }, /cache\.pageBytes: .*multiple of 4.*got 6/],
    [{ cache: { ...cache, pageBytes: 0 } }, /cache\.pageBytes: .*got 0/],
    [{ cache: { ...cache, pages: 1 } }, /cache\.pages: .*>=2.*got 1/],
    [{ cache: { ...cache, pages: 2.5 } }, /cache\.pages: .*int.*got 2\.5/],
    [{ cache: { ...cache, tokensPerPage: -1 } }, /cache\.tokensPerPage: .*got -1/],
    [{ cache: { ...cache, tokensPerPage: '4' } }, /cache\.tokensPerPage: .*number.*got "4"/],
    [{ cache, offload: { slots: 4, policy: 'mru' } }, /offload\.policy: .*"lru"\|"arc-tier".*got "mru"/],
    [{ cache, offload: { slots: -4 } }, /offload\.slots: .*got -4/],
    [{ cache, offload: { fence: 'on' } }, /offload\.fence: .*complete.*got "on"/],
    [
      { cache, transfer: { stagingBytes: 32 } },
      /transfer\.stagingBytes: 32 cannot hold one page of 64 bytes/,
    ],
    [{ cache, transfer: { stagingBuffers: 0 } }, /transfer\.stagingBuffers: .*got 0/],
    [{ cache, transfer: { acknowledgementLag: 0 } }, /transfer\.acknowledgementLag: .*got 0/],
    [{ cache, colour: 'red' }, /colour/],
    [{ cache: { ...cache, pageBytes: 2 ** 24, tokensPerPage: 2 ** 12 } }, /tokensPerPage: 4096 tokens times/],
    [{}, /cache: .*expected object/],
    [null, /engine configuration: .*expected object/],
  ])('%j is refused by name', (input, message) => {
    expect(() => parse(input)).toThrow(ConfigError);
    expect(() => parse(input)).toThrow(message);
  });
});
