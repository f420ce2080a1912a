/** The bandwidth page: measures, shows it, stops, and says so where there is no WebGPU. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { BandwidthResult } from '../../src/bandwidth/result.ts';
import { openDemo, SCREENSHOTS, useStage, type OpenOptions } from './support.ts';

const stage = useStage();
const RUN_MS = 120_000;

const open = (options?: OpenOptions) => openDemo(stage.browser, `${stage.site.url}bandwidth.html`, options);

describe('the bandwidth page', () => {
  it(
    'measures, shows what it has when it is stopped, and copies it; on a phone, in the dark',
    async () => {
      const viewport = { width: 360, height: 740 };
      const demo = await open({
        ...{ viewport, colorScheme: 'dark', reducedMotion: 'reduce' },
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      const { page } = demo;
      await page.getByLabel('Move').selectOption('4 MiB in each run');
      await page.getByRole('button', { name: 'Measure' }).click();
      await page.locator('.operations').waitFor({ timeout: RUN_MS });
      expect(await page.locator('main').getAttribute('data-status')).toBe('running');
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.locator('main[data-status="finished"]').waitFor({ timeout: RUN_MS });
      expect(await page.locator('.status').innerText()).toContain('Stopped');
      expect(await page.locator('.operations table').count()).toBe(4);
      await page.getByLabel('Neighbouring pages').check();

      await page.getByRole('button', { name: 'Copy as JSON' }).click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      const result = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as BandwidthResult;
      expect(result.runtime).toBe('browser');
      expect(result.rows.length).toBeGreaterThanOrEqual(10);
      expect(demo.complaints.filter((text) => /Content Security Policy|pageerror/.test(text))).toEqual([]);
      await page.evaluate(() => scrollTo(0, 0));
      await page.screenshot({ path: join(SCREENSHOTS, 'bandwidth-phone-dark.png'), fullPage: true });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width);
      await demo.close();
    },
    2 * RUN_MS,
  );

  it('says what is missing where there is no WebGPU', async () => {
    const demo = await open({
      before: () => Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined }),
    });
    const { page } = demo;
    await page.getByRole('button', { name: 'Measure' }).click();
    await page.locator('main[data-status="failed"]').waitFor();
    expect(await page.getByRole('alert').innerText()).toMatch(
      /Nothing could be measured.*navigator\.gpu is undefined/s,
    );
    expect(await page.getByRole('button', { name: 'Copy as JSON' }).isDisabled()).toBe(true);
    await demo.close();
  });
});
