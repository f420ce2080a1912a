/** Pictures of the page to look at, at three sizes, light and dark; and that nothing leaves the window. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDemo, SCREENSHOTS, useStage } from './support.ts';

const stage = useStage();

const SIZES = {
  phone: { width: 360, height: 740 },
  laptop: { width: 1280, height: 900 },
  wide: { width: 2200, height: 1200 },
} as const;

/** Each size, and each colour scheme, without all pairs of them. */
const PICTURES = [
  ['phone', 'light'],
  ['laptop', 'light'],
  ['laptop', 'dark'],
  ['wide', 'dark'],
] as const;

describe('pictures', () => {
  it.each(PICTURES)('of a %s in %s: nothing is wider than the window', async (size, colorScheme) => {
    const viewport = SIZES[size];
    const demo = await openDemo(stage.browser, stage.site.url, {
      viewport,
      colorScheme,
      reducedMotion: 'reduce',
    });
    await demo.until('ready');
    await demo.page.getByLabel('Speed').selectOption({ label: '300 steps a second' });
    const shoot = async (name: string, stepMin: number) => {
      await demo.press('Run');
      await demo.page.waitForFunction(
        (step) => Number(document.querySelector('main')!.dataset.step) > step,
        stepMin,
      );
      await demo.press('Pause');
      await demo.until('paused');
      await demo.page.locator('.page-map canvas').first().press('ArrowRight');
      await demo.page.locator('.page-map canvas').first().press('ArrowDown');
      await demo.page.evaluate(() => scrollTo(0, 0));
      const path = join(SCREENSHOTS, `${name}-${size}-${colorScheme}.png`);
      await demo.page.screenshot({ path, fullPage: true });
      expect(await demo.page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width);
    };
    await shoot('conversations', 250);
    await demo.page.getByText('Hazard', { exact: true }).click();
    await demo.page.locator('main[data-trace^="hazard"][data-status="ready"]').waitFor();
    await demo.page.getByRole('switch').click();
    await demo.page.locator('main[data-fence="off"][data-status="ready"]').waitFor();
    await shoot('hazard', 90);
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });
});
