/** The conformance page: runs its cases, shows them, and says so where there is no WebGPU. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CASES } from '../../src/conformance/cases.ts';
import type { ConformanceResult } from '../../src/conformance/suite.ts';
import { openDemo, SCREENSHOTS, useStage, type OpenOptions } from './support.ts';

const stage = useStage();
const RUN_MS = 120_000;

const open = (options?: OpenOptions) => openDemo(stage.browser, `${stage.site.url}conformance.html`, options);

describe('the conformance page', () => {
  it(
    'runs every case, shows one on demand and copies the result',
    async () => {
      const demo = await open({
        reducedMotion: 'reduce',
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      const { page } = demo;
      await page.locator('main[data-status="finished"]').waitFor({ timeout: RUN_MS });
      expect(await page.locator('.subjects tbody').count()).toBe(12);
      expect(await page.locator('.status').innerText()).toContain('Nothing failed');

      await page.getByRole('button', { name: 'clears' }).click();
      expect(await page.locator('.cases [data-case]').count()).toBe(50);
      const one = page.locator('[data-case="clears/of-20-offset-16-bytes-8"]');
      await one.locator('summary').click();
      expect(await one.innerText()).toMatch(/A recycled page is zeroed to its last byte/);
      expect(await one.getByRole('link').getAttribute('href')).toMatch(
        /^https:\/\/www\.w3\.org\/TR\/webgpu\/#/,
      );

      await page.getByRole('button', { name: 'Copy as JSON' }).click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      const result = JSON.parse(copied) as ConformanceResult;
      expect(result).toMatchObject({ runtime: 'browser', failed: 0 });
      expect(result.cases).toHaveLength(CASES.length);
      expect(demo.complaints.filter((text) => /Content Security Policy|pageerror/.test(text))).toEqual([]);

      // It fits a phone, with all that there is to see open.
      await page.setViewportSize({ width: 360, height: 740 });
      await page.getByRole('button', { name: 'loss' }).click();
      for (const summary of await page.locator('[aria-labelledby="not-passed"] summary').all())
        await summary.click();
      await page.evaluate(() => scrollTo(0, 0));
      await page.screenshot({ path: join(SCREENSHOTS, 'conformance-phone-light.png'), fullPage: true });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
      await demo.close();
    },
    2 * RUN_MS,
  );

  it('says what is missing where there is no WebGPU', async () => {
    const demo = await open({
      before: () => Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined }),
    });
    await demo.page.locator('main[data-status="failed"]').waitFor();
    expect(await demo.page.getByRole('alert').innerText()).toMatch(
      /No WebGPU here.*navigator\.gpu is undefined/s,
    );
    expect(await demo.page.getByRole('button', { name: 'Copy as JSON' }).isDisabled()).toBe(true);
    await demo.close();
  });
});
