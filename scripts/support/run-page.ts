/** A page of the demo that runs something and keeps its result, built, served and run in a Chromium. */
import { chromium } from 'playwright-core';
import { browserSearched, findBrowser, launchOptions } from '../../src/runtime/chromium.ts';
import { serveDemo } from './serve-demo.ts';

const FINISH_MS = 600_000;

export interface PageToRun {
  /** The file in `demo`, without its `.html`. */
  readonly page: string;
  /** Label of the button that begins it. Left out where the page begins by itself. */
  readonly button?: string;
}

/** What such a page keeps in `pagefenceRun`, for programs that drive it. */
interface RunOfPage {
  readonly state: { readonly result: unknown; readonly problem: string | null };
}

/**
 * The page's result. Throws where there is no browser, or no WebGPU in it. `root` is the repository, `outDir` a folder
 * for the build.
 */
export async function runPage(
  root: string,
  outDir: string,
  { page: name, button }: PageToRun,
): Promise<unknown> {
  const found = await findBrowser();
  if (found === undefined) throw new Error(`no browser found; looked for ${browserSearched}`);
  const site = await serveDemo(root, outDir, '');
  const browser = await chromium.launch(launchOptions(found));
  try {
    const page = await browser.newPage();
    await page.goto(`${site.url}${name}.html`);
    if (button !== undefined) await page.getByRole('button', { name: button, exact: true }).click();
    const ended = 'main[data-status="finished"], main[data-status="failed"]';
    await page.locator(ended).waitFor({ timeout: FINISH_MS });
    const { result, problem } = await page.evaluate(
      () => (globalThis as unknown as { pagefenceRun: RunOfPage }).pagefenceRun.state,
    );
    if (result === null) throw new Error(problem ?? 'the page ended without a result');
    return result;
  } finally {
    await browser.close();
    await site.close();
  }
}
