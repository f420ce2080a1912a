/** Every page but the tour, which has a test of its own, through axe: in light and dark, and with something to show. */
import { describe, expect, it } from 'vitest';
import { seriousFaults } from './axe.ts';
import { openDemo, useStage, type OpenedDemo } from './support.ts';

const stage = useStage();

async function inBoth({ page }: OpenedDemo, what: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousFaults(page), `${what}, in ${colorScheme}`).toEqual([]);
  }
}

const open = (page: string) =>
  openDemo(stage.browser, `${stage.site.url}${page}`, { reducedMotion: 'reduce', bypassCSP: true });

describe('axe finds nothing serious', () => {
  it('in the replay page, live and looking back', async () => {
    const demo = await open('index.html');
    await demo.until('ready');
    for (let step = 0; step < 6; step += 1) await demo.press('Step');
    await inBoth(demo, 'live');
    await demo.page.getByRole('slider').first().press('ArrowLeft');
    await demo.page.getByText('phase by phase').click();
    await inBoth(demo, 'looking back');
    await demo.close();
  });

  it('in the page that writes', async () => {
    const demo = await open('text.html');
    await demo.page.locator('main').waitFor();
    await inBoth(demo, 'text');
    await demo.close();
  });

  it('in the bandwidth page, while it measures and behind it', async () => {
    const demo = await open('bandwidth.html');
    const { page } = demo;
    await inBoth(demo, 'ready');
    await page.getByLabel('Move').selectOption('4 MiB in each run');
    await page.getByRole('button', { name: 'Measure' }).click();
    await page.locator('.operations').waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('main[data-status="finished"]').waitFor({ timeout: 60_000 });
    await inBoth(demo, 'measured');
    await demo.close();
  }, 120_000);

  it('in the conformance page, with a subject open', async () => {
    const demo = await open('conformance.html');
    const { page } = demo;
    await page.locator('main[data-status="finished"]').waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'aliasing' }).click();
    await inBoth(demo, 'finished');
    await demo.close();
  }, 120_000);
});
