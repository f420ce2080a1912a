/** Benchmarks in Chromium. Started by `scripts/bench.mjs`, which runs them in Node and Deno without Vitest. */
import { playwright } from '@vitest/browser-playwright';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { findBrowser, launchOptions } from '../../src/runtime/chromium.ts';

const shared = {
  include: ['test/bench/gpu.bench.ts'],
  testTimeout: 600_000,
  hookTimeout: 60_000,
  maxWorkers: 1,
};

async function browser(): Promise<TestProjectInlineConfiguration[]> {
  const found = await findBrowser();
  if (found === undefined) return [];
  const provider = playwright({ launchOptions: launchOptions(found) });
  const instances = [{ browser: 'chromium' as const }];
  return [
    { test: { ...shared, name: 'browser', browser: { enabled: true, headless: true, provider, instances } } },
  ];
}

export default defineConfig(async () => ({
  root: new URL('../..', import.meta.url).pathname,
  test: {
    projects: await browser(),
    disableConsoleIntercept: true,
  },
}));
