/** Benchmarks, in the runtimes of the tests. Started by `scripts/bench.mjs`, one runtime after the other. */
import process from 'node:process';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { findBrowser, launchOptions } from '../../src/runtime/chromium.ts';

const shared = {
  include: ['test/bench/**/*.bench.ts'],
  testTimeout: 600_000,
  hookTimeout: 60_000,
  maxWorkers: 1,
};

const native = (name: 'node' | 'deno'): TestProjectInlineConfiguration => ({
  test: { ...shared, name, environment: 'node', pool: 'forks' },
});

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
    projects: 'deno' in process.versions ? [native('deno')] : [native('node'), ...(await browser())],
    disableConsoleIntercept: true,
  },
}));
