/** The demo's conformance page, built, served and run in a Chromium. */
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { build, preview } from 'vite';
import { browserSearched, findBrowser, launchOptions } from '../../src/runtime/chromium.ts';
import type { ConformanceRun } from '../../demo/src/conformance/conformance-run.ts';
import type { ConformanceResult } from '../../src/conformance/suite.ts';

const FINISH_MS = 300_000;

/** Throws where there is no browser, or no WebGPU in it. `root` is the repository, `outDir` a folder for the build. */
export async function runInBrowser(root: string, outDir: string): Promise<ConformanceResult> {
  const found = await findBrowser();
  if (found === undefined) throw new Error(`no browser found; looked for ${browserSearched}`);
  await build({
    configFile: join(root, 'demo/vite.config.ts'),
    logLevel: 'error',
    build: { outDir, emptyOutDir: true },
  });
  const server = await preview({
    configFile: false,
    root: outDir,
    logLevel: 'error',
    build: { outDir: '.' },
    preview: { port: 0, host: '127.0.0.1' },
  });
  const browser = await chromium.launch(launchOptions(found));
  try {
    const page = await browser.newPage();
    const address = server.httpServer.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await page.goto(`http://127.0.0.1:${port}/conformance.html`);
    const ended = 'main[data-status="finished"], main[data-status="failed"]';
    await page.locator(ended).waitFor({ timeout: FINISH_MS });
    const { result, problem } = await page.evaluate(
      () => (globalThis as unknown as { pagefenceConformance: ConformanceRun }).pagefenceConformance.state,
    );
    if (result === null) throw new Error(problem ?? 'the page ended without a result');
    return result;
  } finally {
    await browser.close();
    await server.close();
  }
}
