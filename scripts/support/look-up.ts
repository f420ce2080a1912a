/** What this machine has for the tests, looked up when this module is loaded. */
import { acquireAdapter, browserSearched, findBrowser } from '../../src/runtime/node.ts';

/** What was found, in words, or why nothing was. */
export type Finding = { readonly found: string } | { readonly missing: string };

async function attempt(look: () => Promise<string>): Promise<Finding> {
  try {
    return { found: await look() };
  } catch (error) {
    return { missing: error instanceof Error ? error.message : String(error) };
  }
}

export const nodeAdapter = await attempt(async () => (await acquireAdapter()).description);

export const browser = await attempt(async () => {
  const found = await findBrowser();
  if (found === undefined) throw new Error(`no browser found; looked for ${browserSearched}`);
  return `${found.executable} (${found.source})`;
});
