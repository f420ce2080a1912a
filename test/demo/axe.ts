/** What axe finds wrong for people who cannot see, or not well. The page must be opened with `bypassCSP`. */
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
type WithAxe = typeof globalThis & { readonly axe?: { run(): Promise<AxeResults> } };

/** Serious and critical faults in what is shown, with the elements that have them. */
export async function seriousFaults(page: Page): Promise<string[]> {
  const isThere = await page.evaluate(() => (globalThis as WithAxe).axe !== undefined);
  if (!isThere) await page.addScriptTag({ path: AXE });
  const found = await page.evaluate(async () => (await (globalThis as WithAxe).axe!.run()).violations);
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join('\n')}`);
}
