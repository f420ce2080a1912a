/** The guided tour in a browser: every chapter plays to its end, by mouse and by keyboard, and fits every window. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PACES } from '../../demo/src/tour/player.ts';
import { SCENES } from '../../demo/src/tour/scenes/index.ts';
import { seriousFaults } from './axe.ts';
import { openDemo, SCREENSHOTS, useStage, type OpenedDemo, type OpenOptions } from './support.ts';

const stage = useStage();

const open = (address = '', options?: OpenOptions) =>
  openDemo(stage.browser, `${stage.site.url}tour.html${address === '' ? '' : `#${address}`}`, options);

async function chapter(demo: OpenedDemo, id: string): Promise<void> {
  const { title } = SCENES.find((scene) => scene.id === id)!;
  await demo.page.getByRole('link', { name: title }).click();
  await demo.page.locator(`main[data-chapter="${id}"][data-status="ready"]`).waitFor();
}

const caption = ({ page }: OpenedDemo) => page.locator('[data-caption]').innerText();
const moment = async (demo: OpenedDemo) => Number(await demo.attribute('moment'));
const moments = async (demo: OpenedDemo) => Number(await demo.attribute('moments'));

describe('the tour', () => {
  it('plays every chapter to its end', async () => {
    const demo = await open();
    await demo.until('ready');
    await demo.page.clock.install();
    await demo.page.getByLabel('Pace').selectOption({ label: 'slow' });
    for (const { id, choices } of SCENES) {
      await chapter(demo, id);
      await demo.press('Play');
      await demo.until('playing');
      const count = await moments(demo);
      await demo.page.clock.runFor(count * PACES[0].milliseconds);
      await demo.page.locator(`main[data-moment="${count}"][data-status="ready"]`).waitFor();
      expect(await demo.page.getByRole('button', { name: 'Forward' }).isDisabled()).toBe(true);
      // Each choice plays it anew, and keeps the place.
      const [{ name, options }] = choices;
      await demo.page.locator(`input[name="${name}"][value="${options[1].value}"]`).check({ force: true });
      await demo.page
        .locator(`main[data-status="ready"][data-chosen*="${name}=${options[1].value}"]`)
        .waitFor();
    }
    expect(demo.complaints).toEqual([]);
    await demo.close();
  }, 120_000);

  it('tells both ends of the incident', async () => {
    const demo = await open('incident');
    await demo.until('ready');
    const end = async () => {
      await demo.page.getByRole('slider', { name: 'Moment' }).press('End');
      return { mismatches: await demo.attribute('mismatches'), caption: await caption(demo) };
    };
    const kept = await end();
    expect(kept.mismatches).toBe('0');
    expect(kept.caption).toContain('The fence cost one copy');
    expect(await demo.page.locator('[data-wrong-words]:not([data-wrong-words="0"])').count()).toBe(0);

    await demo.page.getByLabel('as it was then').check({ force: true });
    await demo.page.locator('main[data-status="ready"][data-chosen="fence=scheduled-and-loads"]').waitFor();
    const lost = await end();
    expect(lost.mismatches).toBe('16');
    expect(lost.caption).toContain('are not what Ada');
    expect(await demo.page.locator('[data-slot="6"]').innerText()).toContain(
      '16 wrong words under a valid key',
    );
    const zeros = await demo.page
      .locator('.bytes-rows > div')
      .evaluateAll((rows) => rows.map((row) => (row as HTMLElement).dataset.zeros));
    expect(zeros, 'computed, kept, on each rank').toEqual(['0', '8', '0', '8']);
    await demo.close();
  });

  it('draws a line from each page to the store that still has to read it', async () => {
    const demo = await open('incident/7/fence=off');
    await demo.until('ready');
    const edges = await demo.page
      .locator('[data-edge]')
      .evaluateAll((paths) => paths.map((path) => (path as SVGElement).dataset.edge));
    expect(edges).toContain('13-4');
    const waiting = await demo.page.locator('.job.waiting').count();
    expect(new Set(edges.map((edge) => edge!.split('-')[1])).size).toBe(waiting);
    await demo.close();
  });

  it('steps forth and back by keyboard alone, and keeps the place in the address', async () => {
    const demo = await open('sharing');
    await demo.until('ready');
    const { page } = demo;
    const first = await caption(demo);
    await page.getByRole('button', { name: 'Forward' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    expect(await moment(demo)).toBe(3);
    const third = await caption(demo);
    // The address follows the picture.
    await page.waitForURL(/#sharing\/3\/second=alike\/prefix=on$/);
    const address = page.url();
    await page.getByRole('button', { name: 'Back' }).press('Enter');
    await page.getByRole('button', { name: 'Back' }).press('Space');
    expect(await caption(demo)).toBe(first);
    await page.getByRole('slider', { name: 'Moment' }).press('ArrowRight');
    await page.getByRole('slider', { name: 'Moment' }).press('ArrowRight');
    expect(await caption(demo)).toBe(third);
    await page.getByRole('button', { name: 'Restart' }).press('Enter');
    expect(await moment(demo)).toBe(1);
    await page.waitForURL(/#sharing\/1\/second=alike\/prefix=on$/);
    await page.goto(address);
    await page.locator('main[data-moment="3"][data-status="ready"]').waitFor();
    expect(await caption(demo)).toBe(third);

    await page.getByRole('button', { name: /^Page 1: shared; in 2 page tables: Ann, Ben/ }).press('Enter');
    expect(await page.getByRole('region', { name: 'What happened to page 1' }).innerText()).toContain(
      'Ben finds pages 1, 2',
    );
    await demo.close();
  });

  it('shows what was pressed last, however wildly', async () => {
    const demo = await open();
    await demo.until('ready');
    await demo.page.evaluate(() => {
      const links = [...document.querySelectorAll<HTMLElement>('.chapters a')];
      for (let i = 0; i < 60; i += 1) {
        links[(i * 7) % links.length].click();
        for (const button of document.querySelectorAll<HTMLElement>('.controls button')) button.click();
      }
      links[7].click();
    });
    await demo.page.locator('main[data-chapter="incident"][data-status="ready"][data-moment="1"]').waitFor();
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });

  it('is led to from the demo', async () => {
    const demo = await openDemo(stage.browser, stage.site.url);
    await demo.page.getByRole('link', { name: 'Tour', exact: true }).click();
    await demo.page.locator('main.tour[data-status="ready"]').waitFor();
    await demo.close();
  });

  it('has no serious fault that axe finds, in light and dark', async () => {
    const demo = await open('', { reducedMotion: 'reduce', bypassCSP: true });
    await demo.until('ready');
    for (const { id } of SCENES) {
      await chapter(demo, id);
      await demo.page.emulateMedia({ colorScheme: 'light' });
      await demo.page.getByRole('slider', { name: 'Moment' }).press('End');
      expect(await seriousFaults(demo.page), id).toEqual([]);
      await demo.page.emulateMedia({ colorScheme: 'dark' });
      await demo.page.getByRole('button', { name: 'Back' }).click();
      await demo.page.getByRole('button', { name: 'Back' }).click();
      expect(await seriousFaults(demo.page), `${id}, before its end, in the dark`).toEqual([]);
    }
    await demo.close();
  }, 120_000);

  it.each([
    ['phone', 'light', { width: 360, height: 740 }],
    ['laptop', 'dark', { width: 1280, height: 800 }],
    ['wide', 'light', { width: 3840, height: 2160 }],
  ] as const)(
    'fits a %s, in %s',
    async (size, colorScheme, viewport) => {
      const demo = await open('', { viewport, colorScheme, reducedMotion: 'reduce' });
      await demo.until('ready');
      for (const { id } of SCENES) {
        await chapter(demo, id);
        // Where most is going on: somewhat beyond the middle.
        const range = demo.page.getByRole('slider', { name: 'Moment' });
        await range.fill(String(Math.ceil((await moments(demo)) * 0.6)));
        await demo.page.evaluate(() => scrollTo(0, 0));
        const path = join(SCREENSHOTS, `tour-${id}-${size}-${colorScheme}.png`);
        await demo.page.screenshot({ path, fullPage: true });
        expect(await demo.page.evaluate(() => document.documentElement.scrollWidth), id).toBe(viewport.width);
      }
      await demo.close();
    },
    120_000,
  );
});
