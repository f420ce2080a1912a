/** The page with live text: the shipped model writes, pages fill, and what was found is told. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Generator } from '../../src/model/generator.ts';
import { loadModel } from '../../src/model/load.ts';
import { openDemo, SCREENSHOTS, useStage, type OpenedDemo, type OpenOptions } from './support.ts';

const stage = useStage();
const MODEL = fileURLToPath(new URL('../../demo/public/models/kjv-tiny', import.meta.url));
import { PROMPTS } from '../../demo/src/text/live-text.ts';
const WRITTEN_MS = 120_000;

const open = (options?: OpenOptions) => openDemo(stage.browser, `${stage.site.url}text.html`, options);

async function write(demo: OpenedDemo): Promise<string[]> {
  await demo.until('ready');
  await demo.press('Write');
  await demo.until('writing', 'ready');
  await demo.page.locator('main[data-status="ready"]').waitFor({ timeout: WRITTEN_MS });
  return demo.page.locator('[data-output]').allInnerTexts();
}

const told = ({ page }: OpenedDemo) => page.locator('.controls .status').innerText();

/** What the model writes on the CPU in a pool that is never short. */
async function expectedTexts(prompts: readonly string[], maxTokens: number): Promise<string[]> {
  const generator = await Generator.create({ model: await loadModel(MODEL), tokensPerPage: 8 });
  const results = await generator.generate(prompts.map((prompt) => ({ prompt, maxTokens })));
  await generator.close();
  return results.map(({ text }, i) => `${prompts[i]}${text}`);
}

describe('live text', () => {
  it('is what the model writes, whatever is found, pushed out or brought back', async () => {
    const demo = await open();
    const asked: string[] = [];
    demo.page.on('request', (request) => asked.push(request.url()));
    await demo.until('ready');
    await demo.page.getByLabel('Tokens to write').fill('12');
    await demo.page.getByLabel('Pages of the pool', { exact: true }).fill('44');
    await demo.press('Apply');
    expect(await write(demo)).toEqual(await expectedTexts(PROMPTS, 12));
    expect(await demo.attribute('place')).toBe('webgpu');

    await write(demo);
    expect(await told(demo)).toMatch(
      /[1-9]\d* (were found in pages on the device|came back from host memory)/,
    );

    // Others push those pages out; then they come back, and the text is the same.
    const field = demo.page.getByLabel('Prompt 3');
    for (const prompt of ['Blessed are the', 'And it came to pass in those days, that the', PROMPTS[2]]) {
      await field.fill(prompt);
      await write(demo);
    }
    const texts = await demo.page.locator('[data-output]').allInnerTexts();
    expect(texts).toEqual(await expectedTexts(PROMPTS, 12));
    expect(await told(demo)).toMatch(/[1-9]\d* came back from host memory/);
    expect(asked.filter((url) => !url.startsWith(stage.site.url))).toEqual([]);
    expect(demo.complaints).toEqual([]);
    await demo.close();
  }, 300_000);

  it('shows the text that a page holds, stops, and takes other sizes', async () => {
    const demo = await open();
    await demo.until('ready');
    await demo.page.getByLabel('Tokens to write').fill('100');
    await demo.press('Apply');
    await demo.press('Write');
    await demo.until('writing');
    const map = demo.page.locator('.page-map canvas').first();
    await map.press('Home');
    await map.press('ArrowRight');
    await demo.page.locator('.page-text').waitFor();
    await demo.press('Stop');
    await demo.page.locator('main[data-status="ready"]').waitFor({ timeout: WRITTEN_MS });
    await demo.page.getByLabel('Pages of the pool', { exact: true }).fill('64');
    await demo.page.getByLabel('Tokens a page', { exact: true }).fill('4');
    await demo.press('Apply');
    await demo.until('ready');
    expect(await told(demo)).toContain('A new cache: it is empty.');
    await demo.close();
  }, 300_000);

  it('runs in JavaScript where there is no WebGPU, and says so', async () => {
    const demo = await open({
      before: () => Object.defineProperty(Navigator.prototype, 'gpu', { value: undefined }),
    });
    await demo.until('ready');
    await demo.page.getByLabel('Tokens to write').fill('12');
    await demo.press('Apply');
    expect(await write(demo)).toEqual(await expectedTexts(PROMPTS, 12));
    expect(await demo.page.locator('.place').innerText()).toContain('No WebGPU here');
    expect(await demo.attribute('place')).toBe('cpu');
    await demo.close();
  }, 300_000);

  it.each([
    ['phone', 'light', { width: 360, height: 740 }],
    ['laptop', 'dark', { width: 1280, height: 900 }],
  ] as const)(
    'fits a %s, in %s',
    async (size, colorScheme, viewport) => {
      const demo = await open({ viewport, colorScheme, reducedMotion: 'reduce' });
      await demo.until('ready');
      await demo.press('Write');
      await demo.until('writing');
      await demo.page.waitForFunction(
        () =>
          ((document.querySelectorAll('[data-output]')[0] as HTMLElement | undefined)?.innerText.length ??
            0) > 90,
      );
      const map = demo.page.locator('.page-map canvas').first();
      await map.press('Home');
      for (let i = 0; i < 3; i += 1) await map.press('ArrowRight');
      await demo.page.evaluate(() => scrollTo(0, 0));
      await demo.page.screenshot({
        path: join(SCREENSHOTS, `text-${size}-${colorScheme}.png`),
        fullPage: true,
      });
      expect(await demo.page.evaluate(() => document.documentElement.scrollWidth)).toBe(viewport.width);
      await demo.close();
    },
    300_000,
  );
});
