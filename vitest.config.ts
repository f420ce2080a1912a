import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { findBrowser, launchOptions } from './src/runtime/chromium.ts';

const gpuTests = ['test/gpu/**/*.gpu.test.ts'];

/** Models that tests read where they are there. In a browser Vite's server hands them out. */
const models = resolve(process.env.PAGEFENCE_MODELS ?? '../shared/data/models');
const provide = { modelsFolder: existsSync(models) ? models : null };

const unit: TestProjectInlineConfiguration = {
  test: {
    name: 'unit',
    provide,
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    include: ['test/{unit,property,simulation}/**/*.test.ts'],
    setupFiles: ['test/support/property-seed.ts'],
    // A busy machine is no failure; nothing here asserts a time.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
};

/** GPU tests outside a browser. One worker: the software adapters use every core already. */
const native = (name: 'node' | 'deno'): TestProjectInlineConfiguration => ({
  test: {
    name,
    provide,
    environment: 'node',
    pool: 'forks',
    maxWorkers: 1,
    include: gpuTests,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { groupOrder: 1 },
  },
});

/** The same files in Chromium, and the demo's page. Left out where there is no browser to start. */
async function browser(): Promise<TestProjectInlineConfiguration[]> {
  const found = await findBrowser();
  if (found === undefined) return [];
  return [
    {
      server: { fs: { allow: ['.', models] } },
      test: {
        name: 'browser',
        provide,
        maxWorkers: 1,
        include: gpuTests,
        testTimeout: 60_000,
        hookTimeout: 60_000,
        sequence: { groupOrder: 2 },
        browser: {
          enabled: true,
          headless: true,
          screenshotFailures: false,
          provider: playwright({ launchOptions: launchOptions(found) }),
          instances: [{ browser: 'chromium' }],
        },
      },
    },
    {
      test: {
        name: 'demo',
        environment: 'node',
        pool: 'forks',
        maxWorkers: 1,
        include: ['test/demo/**/*.e2e.test.ts'],
        testTimeout: 60_000,
        hookTimeout: 120_000,
        sequence: { groupOrder: 3 },
      },
    },
  ];
}

/** Files that take longest. Begun last, one of them would keep a single worker busy while the other one has nothing left. */
const LONG = /simulation\/(simulate|explore)|property\/cache-|published-types/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [
      ...sorted.filter(({ moduleId }) => LONG.test(moduleId)),
      ...sorted.filter(({ moduleId }) => !LONG.test(moduleId)),
    ];
  }
}

export default defineConfig(async () => ({
  test: {
    sequence: { sequencer: LongestFirst },
    // Vitest under Deno (`deno run -A node_modules/vitest/vitest.mjs`) has Deno's adapter to test and nothing else.
    projects: 'deno' in process.versions ? [native('deno')] : [unit, native('node'), ...(await browser())],
  },
}));
