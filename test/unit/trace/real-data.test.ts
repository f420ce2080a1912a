import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, type TestContext } from 'vitest';
import { IdSpace } from '../../../src/trace/id-space.ts';
import { openTraceFile } from '../../../src/trace/open-file.node.ts';
import { replayPolicies, type ReplayPolicy } from '../../../src/trace/policy-replay.ts';
import { readTrace } from '../../../src/trace/read-trace.ts';
import { readReferences } from '../../../src/trace/references.ts';
import { promptTokensOf } from '../../../src/trace/trace-request.ts';

const TRACES = fileURLToPath(new URL('../../../../shared/data/traces/', import.meta.url));

function needsData(context: TestContext): void {
  if (!existsSync(TRACES)) context.skip('../shared/data is not here');
}

/** Published figures: capacity, then one rate for each of lru, arc and min. */
const MOONCAKE = [
  [1000, '.0445', '.0529', '.1906'],
  [3000, '.0650', '.0859', '.2944'],
  [10000, '.2112', '.2225', '.3664'],
  [30000, '.3257', '.3108', '.3664'],
  [50000, '.3546', '.3433', '.3664'],
  [100000, '.3637', '.3631', '.3664'],
] as const;

/** In percent: Megiddo and Modha, FAST'03, table IV. */
const OLTP = [
  [1000, 32.83, 38.93, 53.61],
  [2000, 42.47, 46.08, 60.4],
  [5000, 53.65, 55.25, 68.27],
  [10000, 60.7, 61.87, 73.02],
  [15000, 64.63, 65.4, 75.13],
] as const;

const POLICIES: readonly ReplayPolicy[] = ['lru', 'arc', 'min'];

describe("Mooncake's conversation trace", () => {
  const path = `${TRACES}mooncake/conversation_trace.jsonl`;

  it('gives the known hit rates to four decimals', async (context) => {
    needsData(context);
    const trace = await readReferences([await openTraceFile(path)]);
    expect(trace.requests).toBe(12_031);
    expect(trace.references).toHaveLength(288_500);
    expect(trace.uniqueBlocks).toBe(182_790);
    const results = replayPolicies(trace, {
      policies: POLICIES,
      capacities: MOONCAKE.map(([capacity]) => capacity),
    });
    const rows = MOONCAKE.map(([capacity]) => [
      capacity,
      ...results
        .filter((each) => each.capacity === capacity)
        .map(({ hitRate }) => hitRate.toFixed(4).slice(1)),
    ]);
    expect(rows).toEqual(MOONCAKE);
  });

  it('agrees with an analysis by share of the unique blocks', async (context) => {
    needsData(context);
    const trace = await readReferences([await openTraceFile(path)]);
    const capacities = [0.01, 0.05, 0.1, 0.25, 0.5].map((share) => Math.round(share * trace.uniqueBlocks));
    const rates = replayPolicies(trace, { policies: ['lru'], capacities }).map(({ hitRate }) =>
      hitRate.toFixed(3),
    );
    expect(rates).toEqual(['0.052', '0.195', '0.278', '0.353', '0.363']);
  });
});

describe('the OLTP trace of the ARC paper', () => {
  it('gives the published hit rates to 0.05 points', async (context) => {
    needsData(context);
    const trace = await readReferences([await openTraceFile(`${TRACES}arc/OLTP.lis.gz`)]);
    expect(trace.references).toHaveLength(914_145);
    for (const [capacity, ...published] of OLTP) {
      const results = replayPolicies(trace, { policies: POLICIES, capacities: [capacity] });
      for (const [index, { policy, hitRate }] of results.entries()) {
        expect(Math.abs(hitRate * 100 - published[index]), `${policy} at ${capacity}`).toBeLessThanOrEqual(
          0.05,
        );
      }
    }
  }, 30_000);
});

describe('the agent sessions', () => {
  it('are read whole, with ids that no other session has', async (context) => {
    needsData(context);
    const folder = `${TRACES}agent-sessions/`;
    const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
    const ids = new IdSpace();
    let firstFreeId = 0;
    let requests = 0;
    for (const name of names) {
      for await (const request of readTrace(await openTraceFile(`${folder}${name}`), { ids })) {
        expect(request.blocks.every((id) => id >= firstFreeId)).toBe(true);
        expect(promptTokensOf(request)).toHaveLength(request.promptTokens);
        requests += 1;
      }
      firstFreeId = ids.size;
    }
    expect([names.length, requests]).toEqual([14, 501]);
  });
});
