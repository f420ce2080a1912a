/** The demo's conformance page, built, served and run in a Chromium. */
import { chromium } from 'playwright-core';
import { browserSearched, findBrowser, launchOptions } from '../../src/runtime/chromium.ts';
import type { ConformanceRun } from '../../demo/src/conformance/conformance-run.ts';
import type { ConformanceResult } from '../../src/conformance/suite.ts';
import { serveDemo } from './serve-demo.ts';

const FINISH_MS = 300_000;

/** Throws where there is no browser, or no WebGPU in it. `root` is the repository, `outDir` a folder for the build. */
export async function runInBrowser(root: string, outDir: string): Promise<ConformanceResult> {
  const found = await findBrowser();
  if (found === undefined) throw new Error(`no browser found; looked for ${browserSearched}`);
  const site = await serveDemo(root, outDir, '');
  const browser = await chromium.launch(launchOptions(found));
  try {
    const page = await browser.newPage();
    await page.goto(`${site.url}conformance.html`);
    const ended = 'main[data-status="finished"], main[data-status="failed"]';
    await page.locator(ended).waitFor({ timeout: FINISH_MS });
    const { result, problem } = await page.evaluate(
      () => (globalThis as unknown as { pagefenceConformance: ConformanceRun }).pagefenceConformance.state,
    );
    if (result === null) throw new Error(problem ?? 'the page ended without a result');
    return result;
  } finally {
    await browser.close();
    await site.close();
  }
}
