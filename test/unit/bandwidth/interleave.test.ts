import { describe, expect, it } from 'vitest';
import { interleave } from '../../../src/bandwidth/interleave.ts';

/** Contestants that write down their turns and take given times. */
function contestants(times: Readonly<Record<string, (turn: number) => number>>) {
  const turns: string[] = [];
  const ways = Object.entries(times).map(([name, time]) => {
    let turn = 0;
    return {
      run: () => {
        turns.push(name);
        turn += 1;
        return Promise.resolve(time(turn));
      },
    };
  });
  return { turns, ways };
}

describe('ways take turns', () => {
  it('after four rounds to warm up that do not count', async () => {
    const { turns, ways } = contestants({ a: (turn) => (turn <= 4 ? 1000 : turn), b: () => 2 });
    const [a, b] = await interleave(ways, { runs: 5, budgetMs: 1e9, pause: () => undefined });
    expect(turns.join('')).toBe('ab'.repeat(9));
    expect(a).toEqual({ milliseconds: 7, middleHalf: [6, 8], runs: 5 });
    expect(b).toEqual({ milliseconds: 2, middleHalf: [2, 2], runs: 5 });
  });

  it('and a slow one sits out once its time is spent, after one run to warm up and three that count', async () => {
    const { turns, ways } = contestants({ slow: () => 500, quick: () => 1 });
    const [slow, quick] = await interleave(ways, { runs: 11, budgetMs: 300, pause: () => undefined });
    expect(turns.filter((name) => name === 'slow')).toHaveLength(1 + 3);
    expect([slow.runs, quick.runs]).toEqual([3, 11]);
  });

  it('until the pause throws', async () => {
    const { turns, ways } = contestants({ a: () => 1, b: () => 1 });
    const pause = () => {
      if (turns.length === 3) throw new Error('enough');
    };
    await expect(interleave(ways, { runs: 5, budgetMs: 1e9, pause })).rejects.toThrow('enough');
    expect(turns).toEqual(['a', 'b', 'a']);
  });
});
