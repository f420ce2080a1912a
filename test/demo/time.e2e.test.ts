/** Back and forth in time: moments of the recording, links, files. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  choose,
  dropFile,
  FAST,
  openDemo,
  SCREENSHOTS,
  setSpeed,
  useStage,
  type OpenedDemo,
} from './support.ts';

const stage = useStage();

/** Everything that a person sees of a moment: the pictures of pages and slots, and the words beside them. */
async function picture({ page }: OpenedDemo): Promise<Record<string, string>> {
  await page.mouse.move(0, 0);
  return page.evaluate(() => {
    const canvas = (selector: string) => document.querySelector<HTMLCanvasElement>(selector)!.toDataURL();
    const words = (selector: string) => document.querySelector<HTMLElement>(selector)!.innerText;
    return {
      pages: canvas('.page-map .cell-map canvas'),
      slots: canvas('.host-map .cell-map canvas'),
      legend: words('.page-map .legend'),
      requests: words('.requests'),
      staging: words('.staging'),
      counters: words('.counters'),
      lastStep: words('.last-step'),
      mismatches: words('.figure'),
    };
  });
}

async function stepTo(demo: OpenedDemo, step: number): Promise<void> {
  while (Number(await demo.attribute('step')) < step) {
    const next = Number(await demo.attribute('step')) + 1;
    await demo.press('Step');
    await demo.page.locator(`main[data-step="${next}"]`).waitFor();
  }
}

async function scrubTo(demo: OpenedDemo, moment: number): Promise<void> {
  await demo.page.getByRole('slider', { name: 'Moment' }).fill(String(moment));
  await demo.page.locator(`main[data-step="${moment}"]`).waitFor();
}

/** The fence off, pages in plain arrays: mismatches are known at every moment. */
async function openHazard(url = stage.site.url): Promise<OpenedDemo> {
  const demo = await openDemo(stage.browser, url, { acceptDownloads: true });
  await demo.until('ready');
  await choose(demo, 'Hazard');
  await demo.page.getByLabel('Worker').selectOption('simulated');
  await demo.page.getByRole('switch').click();
  await demo.page.locator('main[data-fence="off"][data-worker="simulated"][data-status="ready"]').waitFor();
  return demo;
}

describe('time', () => {
  it('shows each moment as it was, back and forth, by keys and by buttons', async () => {
    const demo = await openHazard();
    const seen = new Map<number, Record<string, string>>();
    for (let moment = 1; moment <= 14; moment += 1) {
      await stepTo(demo, moment);
      seen.set(moment, await picture(demo));
    }
    for (const moment of [3, 12, 7, 1, 13, 7]) {
      await scrubTo(demo, moment);
      expect(await picture(demo), `moment ${moment}`).toEqual(seen.get(moment));
    }
    const slider = demo.page.getByRole('slider', { name: 'Moment' });
    await slider.focus();
    for (const [key, moment] of [
      ['Home', 0],
      ['ArrowRight', 1],
      ['End', 14],
      ['ArrowLeft', 13],
      ['PageDown', 3],
      ['PageUp', 13],
    ] as const) {
      await demo.page.keyboard.press(key);
      await demo.page.locator(`main[data-step="${moment}"]`).waitFor();
    }
    expect(await demo.attribute('moment')).toBe('13');
    await demo.page.getByRole('button', { name: 'One step back' }).click();
    expect(await picture(demo)).toEqual(seen.get(12));
    await demo.press('Step');
    await demo.page.locator('main[data-step="13"]').waitFor();
    await demo.press('Live');
    expect(await demo.attribute('moment')).toBe('live');
    expect(await picture(demo)).toEqual(seen.get(14));
    // Running on from the past plays the recording, then the run itself.
    await scrubTo(demo, 2);
    await setSpeed(demo, FAST);
    await demo.press('Run');
    await demo.untilFinished();
    expect(await demo.attribute('moment')).toBe('live');
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });

  it('goes to a moment by link, bookmarks with it', async () => {
    const demo = await openHazard();
    await stepTo(demo, 30);
    await scrubTo(demo, 21);
    await demo.press('Bookmark this moment');
    await scrubTo(demo, 26);
    const there = await picture(demo);
    await demo.press('Copy link to this moment');
    await demo.page.waitForFunction(() => location.hash !== '');
    const link = demo.page.url();
    await demo.close();
    const other = await openDemo(stage.browser, link);
    await other.page.locator('main[data-step="26"][data-status="paused"]').waitFor();
    expect(await picture(other)).toEqual(there);
    await other.page.getByRole('button', { name: 'Go to moment 21' }).click();
    expect(await other.attribute('step')).toBe('21');
    await other.page.evaluate(() => {
      location.hash = location.hash.replace('fence=off', 'fence=ajar');
    });
    const alert = other.page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toMatch(/link: fence: expected one of complete, off, got "ajar"/);
    expect(other.complaints).toEqual([]);
    await other.close();
  });

  it('saves a run and opens it again; refuses a broken one and another version', async () => {
    const demo = await openHazard();
    await stepTo(demo, 24);
    await scrubTo(demo, 17);
    const there = await picture(demo);
    const download = demo.page.waitForEvent('download');
    await demo.press('Save run');
    const text = await readFile(await (await download).path(), 'utf8');
    await demo.close();

    const other = await openDemo(stage.browser, stage.site.url);
    await other.until('ready');
    const open = (name: string, content: string) =>
      other.page.getByLabel('Run file').setInputFiles({
        name,
        mimeType: 'application/json',
        buffer: Buffer.from(content),
      });
    await open('mine.run.json', text);
    await other.page.locator('main[data-step="17"][data-moment="17"]').waitFor();
    expect(await picture(other)).toEqual(there);
    expect(await other.page.locator('.place').innerText()).toContain('mine.run.json');
    await other.press('End');
    await dropFile(other, 'dropped.run.json', text);
    await other.page.locator('main[data-moment="17"]').waitFor();
    expect(await other.page.locator('.place').innerText()).toContain('dropped.run.json');
    await other.press('End');
    expect(await other.attribute('step')).toBe('24');
    const alert = other.page.getByRole('alert');
    for (const [name, content, reason] of [
      ['cut.run.json', text.slice(0, -100), /cut\.run\.json: file: expected a whole JSON document/],
      [
        'new.run.json',
        text.replace('"version":1', '"version":2'),
        /new\.run\.json: version: expected 1.*got 2/,
      ],
      ['bent.run.json', text.replace('"poolPages":16', '"poolPages":17'), /bent\.run\.json: sum:/],
      [
        'odd.run.json',
        text.replace('"concurrency":1', '"concurrency":"one"'),
        /run\.settings\.concurrency: .*"one"/,
      ],
    ] as const) {
      await open(name, content);
      await alert.getByText(name).waitFor();
      expect(await alert.innerText()).toMatch(reason);
      expect(await other.attribute('step'), 'the run before stays').toBe('24');
    }
    await other.press('Reset');
    await other.page.locator('main[data-step="0"][data-status="ready"]').waitFor();
    expect(other.complaints).toEqual([]);
    await other.close();
  });

  it('shows which pages a transfer reads, and which transfers read a page', async () => {
    const demo = await openHazard();
    await stepTo(demo, 12);
    const chip = demo.page.locator('.chip-job').first();
    await chip.focus();
    await demo.page.keyboard.press('Enter');
    const facts = demo.page.locator('.facts');
    await facts.getByRole('heading', { name: /^Job \d+$/ }).waitFor();
    expect(await facts.innerText()).toMatch(/Decided\s+step \d+/);
    await demo.page.locator('.phases summary').click();
    await demo.page.getByRole('button', { name: 'forward', exact: true }).click();
    expect(await demo.page.locator('.phases em').innerText()).toContain('Rows are computed');
    const bar = demo.page.locator('.bar[tabindex="0"]');
    await bar.focus();
    await demo.page.keyboard.press('ArrowRight');
    expect(await demo.page.evaluate(() => document.activeElement?.getAttribute('data-job'))).toMatch(/^\d+$/);
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });

  it.each([
    ['phone', { width: 360, height: 740 }, 'light'],
    ['laptop', { width: 1280, height: 800 }, 'light'],
    ['laptop', { width: 1280, height: 800 }, 'dark'],
  ] as const)('fits a %s', async (size, viewport, colorScheme) => {
    const demo = await openDemo(stage.browser, stage.site.url, { viewport, colorScheme });
    await demo.until('ready');
    await choose(demo, 'Hazard');
    await stepTo(demo, 30);
    await scrubTo(demo, 22);
    await demo.press('Bookmark this moment');
    await demo.page.locator('.phases summary').click();
    await demo.page.getByRole('button', { name: 'connector', exact: true }).click();
    await demo.page.evaluate(() => scrollTo(0, 0));
    await demo.page.screenshot({
      path: join(SCREENSHOTS, `time-${size}-${colorScheme}.png`),
      fullPage: true,
    });
    expect(await demo.page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width);
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });
});
