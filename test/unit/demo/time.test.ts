/** Links, files and phases of the replay page, without a page. */
import { describe, expect, it } from 'vitest';
import { SAMPLES } from '../../../demo/src/run/load-trace.ts';
import type { Counted } from '../../../demo/src/run/look.ts';
import { linkTo, readLink, type LinkedMoment } from '../../../demo/src/time/link.ts';
import { phasesOf } from '../../../demo/src/time/phases.ts';
import { readRun, writeRun } from '../../../demo/src/time/run-file.ts';
import type { RunLog } from '../../../src/recording/run-log.ts';
import { recordedRun } from '../../support/recorded-run.ts';

const linked: LinkedMoment = {
  sample: 'hazard',
  settings: { ...SAMPLES[1].settings, fence: 'off', poolPages: 20 },
  moment: 57,
  bookmarks: [3, 40],
};

describe('a link', () => {
  it('carries run, settings, moment and bookmarks', () => {
    expect(readLink(linkTo(linked))).toEqual(linked);
    expect(readLink(linkTo({ ...linked, bookmarks: [] }))).toEqual({ ...linked, bookmarks: [] });
  });

  it('is none where no run is named, and is refused by field, value and remedy', () => {
    expect(readLink('')).toBeNull();
    expect(readLink('#settings-title')).toBeNull();
    const text = linkTo(linked);
    expect(() => readLink(text.replace('moment=57', 'moment=-1'))).toThrow(
      'link: moment: expected a whole number from 0 to 10000000, got "-1"; copy the whole link again',
    );
    expect(() => readLink(text.replace('pages=20', 'pages=1'))).toThrow(
      /link: pages: expected a whole number from 2/,
    );
    expect(() => readLink(text.replace('&fence=off', ''))).toThrow(/link: fence: .*got nothing/);
    expect(() => readLink(`${text}&speed=9`)).toThrow(/link: speed: not known/);
  });
});

describe('a saved run', () => {
  it('comes back as it was, and is refused where anything is amiss', async () => {
    const run = await recordedRun({ seed: 7, steps: 30 });
    const log = run.log as unknown as RunLog<Counted>;
    const trace = { name: 'mine.jsonl', blockTokens: 16, requests: [] };
    const { settings } = linked;
    const text = writeRun({ trace, settings, place: 'here', moment: 5, bookmarks: [2], log });
    const opened = readRun('mine.run.json', text);
    expect(opened).toMatchObject({ trace, settings, place: 'here', moment: 5, bookmarks: [2] });
    for (const moment of [30, 3, 17]) expect(opened.log.at(moment).view).toEqual(run.views[moment]);

    const refused = (change: (content: string) => string) => () => readRun('x.json', change(text));
    expect(refused((content) => content.slice(0, -9))).toThrow(/^x\.json: file: expected a whole JSON/);
    expect(refused(() => '[1]')).toThrow(/^x\.json: format: /);
    expect(refused((content) => content.replace('"version":1', '"version":7'))).toThrow(
      /^x\.json: version: expected 1; .*got 7/,
    );
    expect(refused((content) => content.replace('"moment":5', '"moment":6'))).toThrow(/^x\.json: sum: /);
    expect(refused((content) => content.replace('"moment":5', '"moment":"6"'))).toThrow(
      'x.json: run.moment: expected a whole number, got "6"',
    );
    // A file that was put together by hand, sum and all, still has to follow on itself.
    const parts = log.toParts();
    const broken = { ...parts, deltas: [{ ...parts.deltas[0], ended: [99] }] };
    const forged = writeRun({
      trace,
      settings,
      place: '',
      moment: 0,
      bookmarks: [],
      log: { toParts: () => broken } as unknown as RunLog<Counted>,
    });
    expect(() => readRun('x.json', forged)).toThrow(/run\.recording: .*jobs 99 are not all under way/);
  });
});

describe('phases and spans', () => {
  it('name every store, load and acknowledgement once, in the order of life', async () => {
    for (const seed of [3, 5, 8]) {
      const { log } = await recordedRun({ seed, steps: 40 });
      for (const { decided, released, complete, ok, kind } of log.jobs.all) {
        if (released !== null) expect(released).toBeGreaterThanOrEqual(decided);
        if (complete !== null && ok && kind === 'store') expect(complete).toBeGreaterThanOrEqual(released!);
      }
      const stores = new Set<number>();
      for (let index = 0; index < log.length; index += 1) {
        const step = log.step(index);
        const phases = phasesOf(step, { spanOf: (job) => log.jobs.of(job as never), nameOf: (id) => id });
        expect(phases.map(({ name }) => name).join(' ')).toBe(
          'schedule connector flush zero copy load forward queue poll',
        );
        expect(phases[8].jobs).toEqual(step.outcome.acknowledgements.map(({ job }) => job));
        for (const { id } of step.plan.stores) stores.add(id);
      }
      expect(log.jobs.all.filter(({ kind }) => kind === 'store').map(({ job }) => job)).toEqual([...stores]);
    }
  });
});
