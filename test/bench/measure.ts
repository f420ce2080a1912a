/** Interleaved measuring: every way once a round, so that a slow spell of the machine hits all of them alike. */
import type { Way } from './raw.ts';

export interface Contest {
  readonly title: string;
  readonly bytes: number;
  readonly raw: readonly Way[];
  readonly ours: readonly Way[];
  /** The one of ours that is used where nothing is asked for. */
  readonly byDefault: string;
  /** The one of ours that a kernel does. */
  readonly kernel?: string;
  /** What the machine allows: takes turns with the others, and competes with none. */
  readonly limit?: Way;
}

interface Timed {
  readonly name: string;
  readonly rates: number[];
}

export interface Verdict {
  readonly title: string;
  /** Default way against the best raw one: the median over rounds of the quotient within a round. */
  readonly ratio: number;
  /** 95 percent interval of that median. */
  readonly interval: readonly [low: number, high: number];
  /** Our kernel against the best raw way, and our default against the limit, where the contest names them. */
  readonly byKernel: number | null;
  readonly ofLimit: number | null;
}

/** Long enough for the engine to have compiled what it runs: a store is thousands of small steps, not one loop. */
const WARM_UPS = 40;
/** The slowest ways need no warming, and would take minutes. */
const WARM_UP_SECONDS_MAX = 15;
const GIGA = 1e9;

/** Another order each round, the same in each run: what a way finds in the caches depends on who went before it. */
function order(count: number, round: number): number[] {
  const indices = Array.from({ length: count }, (_, i) => i);
  let state = Math.imul(round + 1, 0x9e3779b1);
  for (let i = count - 1; i > 0; i -= 1) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (i + 1));
    [indices[i], indices[other]] = [indices[other], indices[i]];
  }
  return indices;
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.ceil(at)] - sorted[low]) * (at - low);
}

const median = (values: readonly number[]) => quantile(values, 0.5);

/** Bounds between which the median of what the values were drawn from lies in 95 of 100 cases, by their ranks alone. */
function medianInterval(values: readonly number[]): [low: number, high: number] {
  const sorted = [...values].sort((a, b) => a - b);
  const count = sorted.length;
  // Ranks by the normal form of the binomial distribution.
  const reach = (1.96 * Math.sqrt(count)) / 2;
  const low = Math.max(0, Math.floor(count / 2 - reach));
  return [sorted[low], sorted[count - 1 - low]];
}

/** Measures all ways, prints a table, and returns how the default did. */
export async function measure(contest: Contest, rounds: number): Promise<Verdict> {
  const { title, bytes, raw, ours, byDefault, kernel, limit } = contest;
  const ways = [...raw, ...ours, ...(limit ? [limit] : [])];
  const timed: Timed[] = ways.map(({ name }) => ({ name, rates: [] }));
  const begin = performance.now();
  for (let round = -WARM_UPS; round < rounds; round += 1) {
    if (performance.now() - begin > WARM_UP_SECONDS_MAX * 1000) round = Math.max(round, 0);
    for (const index of order(ways.length, round + WARM_UPS)) {
      const start = performance.now();
      await ways[index].run();
      const seconds = (performance.now() - start) / 1000;
      if (round >= 0) timed[index].rates.push(bytes / seconds / GIGA);
    }
  }
  const rawTimed = timed.slice(0, raw.length);
  const best = rawTimed.reduce((a, b) => (median(b.rates) > median(a.rates) ? b : a));
  const quotients = (way: Timed, of = best) => way.rates.map((rate, i) => rate / of.rates[i]);
  const kinds = [...raw.map(() => 'raw'), ...ours.map(() => 'ours'), 'limit'];
  const rows = timed.map((way, i) => [
    kinds[i],
    way.name +
      (kinds[i] === 'ours' && way.name === byDefault ? ' (default)' : '') +
      (way === best ? ' (best raw)' : ''),
    median(way.rates).toFixed(2),
    `${quantile(way.rates, 0.25).toFixed(2)} to ${quantile(way.rates, 0.75).toFixed(2)}`,
    median(quotients(way)).toFixed(2),
  ]);
  const header = ['', title, 'GB/s', 'middle half', 'of best raw'];
  console.log(table([header, ...rows]));
  const ownTimed = timed.slice(raw.length, raw.length + ours.length);
  const chosen = ownTimed.find(({ name }) => name === byDefault)!;
  const byKernel = ownTimed.find(({ name }) => name === kernel);
  const atLimit = limit ? timed.at(-1) : undefined;
  return {
    title,
    ratio: median(quotients(chosen)),
    interval: medianInterval(quotients(chosen)),
    byKernel: byKernel ? median(quotients(byKernel)) : null,
    ofLimit: atLimit ? median(quotients(chosen, atLimit)) : null,
  };
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i < 2 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
