/** The scenes of the tour without a browser: each plays to its end, and ends as it must. */
import { describe, expect, it } from 'vitest';
import type { BarsFigure, BytesFigure, CurvesFigure, Moment } from '../../../demo/src/tour/moment.ts';
import { playScene, type Chosen, type Scene } from '../../../demo/src/tour/scene.ts';
import { SCENES } from '../../../demo/src/tour/scenes/index.ts';
import { weighted } from '../../../demo/src/tour/scenes/zeroing.ts';

const play = (id: string, chosen: Chosen = {}): Promise<Moment[]> =>
  playScene(
    SCENES.find((scene) => scene.id === id)!,
    chosen,
  );

/** Every way to play a scene. */
function allChoices({ choices }: Scene): Chosen[] {
  return choices.reduce<Chosen[]>(
    (all, { name, options }) =>
      all.flatMap((chosen) => options.map(({ value }) => ({ ...chosen, [name]: value }))),
    [{}],
  );
}

/** The log of a whole scene, as it is read. */
function told(moments: readonly Moment[]): string[] {
  return moments.flatMap(({ title, caption, log, deeds }) => [
    `${title}: ${caption}`,
    ...log.map(({ text }) => `  - ${text}`),
    ...deeds.map(({ text }) => `  > ${text}`),
  ]);
}

const bars = (moment: Moment) => moment.figures.find((figure) => figure.kind === 'bars') as BarsFigure;
const bytes = (moment: Moment) => moment.figures.find((figure) => figure.kind === 'bytes') as BytesFigure;
const value = (moment: Moment, label: string) => bars(moment).rows.find((row) => row.label === label)?.value;
const last = (moments: readonly Moment[]) => moments[moments.length - 1];

describe.each(SCENES.map((scene) => [scene.id, scene] as const))('chapter %s', (_, scene) => {
  it('tells the same story each time', async () => {
    const lines = told(await playScene(scene));
    expect(lines).toMatchSnapshot();
    expect(told(await playScene(scene))).toEqual(lines);
  });

  it('plays to its end whatever is chosen, and its picture agrees with the bytes', async () => {
    for (const chosen of allChoices(scene)) {
      const moments = await playScene(scene, chosen);
      expect(moments.length, JSON.stringify(chosen)).toBeGreaterThan(3);
      for (const { caption, title, log, deeds, cache } of moments) {
        const texts = [caption, title, ...[...log, ...deeds].map(({ text }) => text)];
        for (const text of texts)
          expect(text, JSON.stringify(chosen)).not.toMatch(/undefined|null,|\[object/);
        expect(caption).toMatch(/[.:]$/);
        // Two witnesses: what the log of plans and outcomes says, and what was read back.
        for (const [slot, { wrongWords }] of (cache?.slots ?? []).entries()) {
          expect(wrongWords > 0, `slot ${slot}, ${title}`).toBe(cache!.view.slots[slot].suspect);
        }
      }
    }
  });

  it('refuses what is not on offer', async () => {
    const [{ name }] = scene.choices;
    await expect(playScene(scene, { [name]: 'nothing' })).rejects.toThrow(
      `${scene.id}: ${name} is nothing; use one of`,
    );
  });
});

describe('the incident', () => {
  it('ends well with the fence', async () => {
    const moments = await play('incident', { fence: 'complete' });
    expect(told(moments).join('\n')).toContain('> Fence: job 4 must read first');
    expect(last(moments).cache!.mismatches).toBe(0);
    const { rows } = bytes(last(moments));
    expect(rows.map(({ words }) => words)).toEqual(
      [rows[0], rows[0], rows[2], rows[2]].map(({ words }) => words),
    );
  });

  it.each(['scheduled-and-loads', 'off'])(
    'ends in zeros under a valid key with the fence %s',
    async (fence) => {
      const moments = await play('incident', { fence });
      expect(told(moments).join('\n')).not.toContain('> Fence');
      const { rows } = bytes(last(moments));
      const zeros = rows.map(({ words }) => words.every((word) => word === 0));
      expect(zeros, 'computed, kept, on each rank').toEqual([false, true, false, true]);
      const [slot] = last(moments).marked.slots;
      expect(last(moments).cache!.view.slots[slot]).toMatchObject({ state: 'ready', suspect: true });
      expect(last(moments).cache!.view.slots[slot].key).not.toBeNull();
      const before = moments[moments.length - 3].cache!.mismatches;
      expect([before, last(moments).cache!.mismatches], 'nobody notices until the hit').toEqual([0, 16]);
    },
  );

  it.each(['scheduled-and-loads', 'off'])('tells its story with the fence %s', async (fence) => {
    expect(told(await play('incident', { fence }))).toMatchSnapshot();
  });
});

describe('what the chapters say', () => {
  it('pages hold less that is empty than one long memory', async () => {
    const moments = await play('pages');
    const busiest = moments.find(({ caption }) => caption.startsWith('Eve comes'))!;
    expect(bars(busiest).rows.map(({ text }) => Number(/, (\d+)/.exec(text)![1]))).toEqual([37, 7]);
    expect(busiest.cache!.view.requests.map(({ status }) => status)).not.toContain('waiting');
  });

  it('without pages room is there and of no use, even if lengths were known', async () => {
    const moments = await play('pages', { reserve: 'exact' });
    const eve = moments.find(({ caption }) => caption.startsWith('Eve comes'))!;
    expect(eve.caption).toContain('15 places are not reserved, the longest gap has 8');
    const later = moments.find(({ caption }) => caption.includes('35 places'))!;
    expect(later.caption, 'in two gaps, of which neither is enough').toContain('the longest gap has 18');
  });

  it('a shared beginning is computed once, and a difference at its first word shares nothing', async () => {
    const found = async (second: string) => value((await play('sharing', { second }))[2], 'found');
    expect(await found('alike')).toBe(8);
    expect(await found('later')).toBe(4);
    expect(await found('first')).toBe(0);
    const [, , ben] = await play('sharing');
    expect(ben.cache!.view.pages.filter(({ references }) => references === 2).map(({ id }) => id)).toEqual([
      1, 2,
    ]);
  });

  it('a copy is made before what is shared is written; left out, wrong words are read', async () => {
    expect(last(await play('copying')).cache!.mismatches).toBe(0);
    const without = await play('copying', { copy: 'left-out' });
    expect(last(without).cache!.mismatches).toBeGreaterThan(0);
  });

  it('tails go first: with the head gone, what is left is of no use', async () => {
    expect(value(last(await play('eviction', { order: 'tail', others: '2' })), 'found')).toBe(12);
    expect(value(last(await play('eviction', { order: 'head', others: '2' })), 'found')).toBe(0);
    expect(value(last(await play('eviction', { order: 'tail', others: '1' })), 'found')).toBe(20);
  });

  it('what went to the host comes back instead of being computed', async () => {
    const end = async (slots: string) => {
      const moment = last(await play('host', { slots }));
      return [value(moment, 'from the host'), value(moment, 'computed again')];
    };
    expect(await end('12')).toEqual([16, 3]);
    expect(await end('0')).toEqual([0, 19]);
  });

  it('windows give back what they do not look at again', async () => {
    const held = async (window: string) => {
      const at = (await play('windows', { window })).find(({ caption }) => caption.startsWith('20 tokens'))!;
      return [
        value(at, 'full attention'),
        value(at, 'sliding window'),
        value(at, 'state'),
        value(at, 'ring'),
      ];
    };
    expect(await held('4')).toEqual([5, 1, 1, 1]);
    expect(await held('8')).toEqual([5, 2, 1, 1]);
    expect(await held('16')).toEqual([5, 4, 1, 1]);
  });

  it('stale bytes spoil a sum, zeros do not, poison always does', async () => {
    const rest = async (zeroing: string) => {
      const { rows } = bytes((await play('zeroing', { zeroing }))[2]);
      return { stale: rows[0].words.slice(8), now: rows[1].words.slice(8) };
    };
    const left = await rest('auto');
    expect(left.now, 'Ann’s rows behind the one that Ben wrote').toEqual(left.stale);
    expect(weighted(left.now)).toBeNaN();
    expect(weighted((await rest('always')).now)).toBe(0);
    expect(new Set((await rest('poison')).now).size).toBe(1);
    expect(weighted((await rest('poison')).now)).toBeNaN();
  });

  it('no rule is best on every trace', async () => {
    const shares = async (trace: string) => {
      const figure = last(await play('policies', { trace })).figures[0] as CurvesFigure;
      return Object.fromEntries(figure.curves.map(({ name, points }) => [name, points[points.length - 1]]));
    };
    const favourites = await shares('favourites');
    expect(favourites.ARC).toBeGreaterThan(favourites.LRU + 0.1);
    for (const trace of ['twice', 'topics']) {
      const found = await shares(trace);
      expect(found.ARC, trace).toBeLessThan(found.LRU);
      expect(found['best possible'], trace).toBeGreaterThanOrEqual(found.LRU);
    }
    const round = await shares('round');
    expect([round.LRU, round.ARC]).toEqual([0, 0]);
    expect(round['best possible']).toBeGreaterThan(0.7);
  });
});
