/** Which page to evict: three rules on one and the same trace. */
import { replayPolicies, REPLAY_POLICIES, type ReplayPolicy } from '../../../../src/index.ts';
import { Random } from '../../../../src/simulate/random.ts';
import type { CurvesFigure, Moment } from '../moment.ts';
import type { Chosen, Scene } from '../scene.ts';

const NAMES: Readonly<Record<ReplayPolicy, string>> = { lru: 'LRU', arc: 'ARC', min: 'best possible' };
const SEED = 7;
/** Points of a curve, and moments of the scene. */
const POINTS = 48;
const MOMENTS = 12;

/** Each gives the blocks that are asked for, one after the other. */
const TRACES: Readonly<Record<string, () => number[]>> = {
  favourites: () => {
    const random = new Random(SEED);
    let next = 100;
    return rounds(40, () => [...rounds(6, () => [random.between(0, 9)]), ...rounds(12, () => [next++])]);
  },
  twice: () => {
    const asked: number[] = [];
    for (let i = 0; i < 240; i += 1) {
      asked.push(i);
      for (const ago of [10, 14]) if (i >= ago) asked.push(i - ago);
    }
    return asked;
  },
  topics: () => {
    const random = new Random(SEED);
    const topics = Array.from({ length: 16 }, (_, topic) => topic);
    return topics.flatMap((topic) => rounds(40, () => [topic * 16 + random.between(0, 15)]));
  },
  round: () => rounds(36, () => Array.from({ length: 20 }, (_, block) => block)),
};

export const policies: Scene = {
  id: 'policies',
  title: 'Which page to evict',
  about:
    'When the memory is full something has to go, and nobody knows what will be asked for next. A rule guesses from the past. The best possible choice is known only afterwards, and shows how much a better guess could win.',
  look: 'The curves: how many of the blocks asked for so far were there. No rule is best everywhere: look for the traces on which ARC loses.',
  words: [
    ['LRU', 'least recently used: what was not asked for longest goes first.'],
    [
      'ARC',
      'keeps what was asked for once apart from what was asked for often, and learns how much room each deserves.',
    ],
    ['Trace', 'a list of what was asked for, in order. Here it is made by rule, from a fixed seed.'],
  ],
  choices: [
    {
      name: 'trace',
      label: 'Trace',
      options: [
        { value: 'favourites', label: 'favourites, and much read once' },
        { value: 'twice', label: 'each again soon, then never' },
        { value: 'topics', label: 'topics that change' },
        { value: 'round', label: 'a round too long to fit' },
      ],
    },
    {
      name: 'capacity',
      label: 'Room for',
      options: [
        { value: '16', label: '16 blocks' },
        { value: '12', label: '12' },
        { value: '24', label: '24' },
      ],
    },
  ],
  play,
};

// eslint-disable-next-line @typescript-eslint/require-await -- scenes are played as they come, this one at once
async function* play({ trace, capacity }: Chosen): AsyncGenerator<Moment, void, undefined> {
  const references = Uint32Array.from(TRACES[trace]());
  const uniqueBlocks = references.reduce((max, block) => Math.max(max, block), 0) + 1;
  const curves = new Map<ReplayPolicy, number[]>(REPLAY_POLICIES.map((policy) => [policy, [0]]));
  const asked = (point: number) => Math.round((references.length * point) / POINTS);
  for (let point = 0; point <= POINTS; point += 1) {
    if (point > 0) {
      const results = replayPolicies(
        { references: references.subarray(0, asked(point)), uniqueBlocks },
        { policies: REPLAY_POLICIES, capacities: [Number(capacity)] },
      );
      for (const { policy, hitRate } of results) curves.get(policy)!.push(hitRate);
    }
    if (point % (POINTS / MOMENTS) !== 0) continue;
    yield {
      title: `${asked(point)} of ${references.length} blocks asked for`,
      caption:
        point === 0 ? `Room for ${capacity} blocks, and all of it is empty.` : told(curves, point === POINTS),
      deeds: [],
      log: [],
      cache: null,
      figures: [figure(curves)],
      marked: { pages: [], slots: [] },
      names: [],
    };
  }
}

function told(curves: ReadonlyMap<ReplayPolicy, readonly number[]>, isOver: boolean): string {
  const [lru, arc, min] = REPLAY_POLICIES.map((policy) => curves.get(policy)!.at(-1)!);
  const lead = 100 * (arc - lru);
  const by = `by ${Math.abs(lead).toFixed(1)} points`;
  const who =
    Math.abs(lead) < 0.05
      ? 'LRU and ARC find equally much'
      : lead > 0
        ? `ARC is ahead of LRU ${by}`
        : `ARC is behind LRU ${by}`;
  const best = 100 * (min - Math.max(lru, arc));
  const rest =
    best < 0.05 ? 'and nothing could be better' : `and ${best.toFixed(1)} points more would be possible`;
  return `${isOver ? 'The trace is over: ' : ''}${who}, ${rest}.`;
}

function figure(curves: ReadonlyMap<ReplayPolicy, readonly number[]>): CurvesFigure {
  const shares = [...curves].map(
    ([policy, points]) => `${NAMES[policy]} ${(100 * points.at(-1)!).toFixed(1)} %`,
  );
  return {
    kind: 'curves',
    title: 'Found, of all that was asked for so far',
    about: `Curves of the share found so far: ${shares.join(', ')}`,
    curves: [...curves].map(([policy, points]) => ({ name: NAMES[policy], points: [...points] })),
    length: POINTS + 1,
  };
}

function rounds(count: number, of: () => readonly number[]): number[] {
  return Array.from({ length: count }, of).flat();
}
