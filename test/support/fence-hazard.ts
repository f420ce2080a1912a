/**
 * The hazard by count, never by timing. Pool of three usable pages of four tokens; one staging buffer of one page,
 * one page of store budget a step, so the second page of a store waits for a step in which the first has arrived.
 *
 *   step 0   A computes 8 tokens on pages 1 and 2 and finishes; its store (job 0: pages 1, 2 to slots 0, 1) is queued
 *   step 1   page 1 is copied, budget and ring are spent. B arrives with 6 tokens and is given the free page 3 and
 *            page 2, the tail of A's chain: it is zeroed, and B writes two rows
 *   later    the ring has room again: whoever still waits reads page 2 now
 *
 * With the fence, step 1 releases job 0 before it zeroes: slot 1 holds A's rows. Without it, slot 1 holds B's two rows
 * and two of zeros, under A's key.
 */
import type { EngineConfigInput } from '../../src/config.ts';
import { witnessWord } from '../../src/witness/pattern.ts';
import { makeWorld, prompt, type MakeWorker, type World } from './worlds.ts';

export const PAGE_WORDS = 8;
export const PAGE_TOKENS = 4;

export function hazardConfig(fence: 'complete' | 'scheduled-and-loads' | 'off'): EngineConfigInput {
  const pageBytes = PAGE_WORDS * 4;
  return {
    cache: { pages: 4, pageBytes, tokensPerPage: PAGE_TOKENS, zeroing: 'always' },
    offload: { slots: 8, fence },
    transfer: {
      storeBytesPerStep: pageBytes,
      stagingBuffers: 1,
      stagingBytes: pageBytes,
      overflowBytes: 4 * pageBytes,
      acknowledgementLag: 2,
    },
  };
}

export interface HazardOutcome {
  readonly world: World;
  /** Words of slot 1 once everything has come home. */
  readonly slot: Uint32Array;
  /** What A computed for its second page. */
  readonly rowsOfA: Uint32Array;
  /** What page 2 held after B: two rows, then zeros. */
  readonly rowsOfBThenZeros: Uint32Array;
  /** Step 1, in which page 2 was claimed and zeroed. */
  readonly claim: {
    readonly zeroed: readonly number[];
    readonly flush: readonly number[];
    readonly released: readonly number[];
  };
  readonly acknowledgedInClaim: number;
  /** Words found wrong when A's prompt comes back and hits the key. */
  readonly mismatchesOnHit: number;
  readonly hostHitTokens: number;
}

export async function provokeHazard(
  fence: 'complete' | 'scheduled-and-loads' | 'off',
  makeWorker?: MakeWorker,
  transfer: EngineConfigInput['transfer'] = {},
): Promise<HazardOutcome> {
  const config = hazardConfig(fence);
  const world = await makeWorld({ ...config, transfer: { ...config.transfer, ...transfer } }, makeWorker);
  const { engine, worker } = world;
  const promptOfA = prompt(100, 8);
  const promptOfB = prompt(900, 6);
  engine.add({ id: 'A', tokens: promptOfA });
  const first = await engine.step();
  const rowsOfA = patternOf(first.plan.forward[0].unitSeeds[1], promptOfA.slice(4));
  engine.add({ id: 'B', tokens: promptOfB });
  const second = await engine.step();
  const rowsOfB = patternOf(second.plan.forward[0].unitSeeds[1], promptOfB.slice(4));
  await engine.drain();
  const slot = world.slot(1);
  engine.add({ id: 'A again', tokens: [...promptOfA, 7] });
  const [again] = await engine.drain();
  engine.checkIntegrity();
  return {
    world,
    slot,
    rowsOfA,
    rowsOfBThenZeros: Uint32Array.from([
      ...rowsOfB,
      ...new Array<number>(PAGE_WORDS - rowsOfB.length).fill(0),
    ]),
    claim: {
      zeroed: second.plan.newPageIdsToZero.flatMap(({ pages }) => pages),
      flush: second.plan.jobsToFlush,
      released: second.outcome.released,
    },
    acknowledgedInClaim: second.outcome.acknowledgements.length,
    mismatchesOnHit: (await worker.readWitness()).mismatches,
    hostHitTokens: again.hitTokens.host,
  };
}

function patternOf(seed: number, tokens: readonly number[]): Uint32Array {
  const wordsPerRow = PAGE_WORDS / PAGE_TOKENS;
  return Uint32Array.from({ length: tokens.length * wordsPerRow }, (_, word) =>
    witnessWord(seed, tokens[Math.floor(word / wordsPerRow)], word),
  );
}
