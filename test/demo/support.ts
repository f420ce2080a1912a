/** The demo built and served from a folder below the root, and a Chromium to open it in. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { serveDemo, type ServedDemo } from '../../scripts/support/serve-demo.ts';
import { findBrowser, launchOptions } from '../../src/runtime/chromium.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const DEMO_CONFIG = join(ROOT, 'demo/vite.config.ts');
export const SCREENSHOTS = join(ROOT, 'test-results/demo');

/** As a user would put it on a web server: the built files, in some folder. */
export async function buildAndServe(): Promise<ServedDemo> {
  const served = await mkdtemp(join(tmpdir(), 'pagefence-demo-'));
  const site = await serveDemo(ROOT, served, 'some/folder');
  return {
    url: site.url,
    close: async () => {
      await site.close();
      await rm(served, { recursive: true, force: true });
    },
  };
}

/** With WebGPU on a software adapter, or with none at all. */
export async function launch(): Promise<Browser> {
  const found = await findBrowser();
  if (found === undefined) throw new Error('no browser found');
  await mkdir(SCREENSHOTS, { recursive: true });
  return chromium.launch(launchOptions(found));
}

export interface Stage {
  readonly site: ServedDemo;
  readonly browser: Browser;
}

/** The site and the browser that a file's tests share: there from its first test on, closed after its last one. */
export function useStage(): Stage {
  const stage: { -readonly [Part in keyof Stage]?: Stage[Part] } = {};
  beforeAll(async () => {
    stage.site = await buildAndServe();
    stage.browser = await launch();
  }, 120_000);
  afterAll(async () => {
    await stage.browser?.close();
    await stage.site?.close();
  });
  return stage as Stage;
}

/** Milliseconds for the longest of the bundled traces. */
export const FINISH_MS = 170_000;

export interface OpenedDemo {
  readonly page: Page;
  /** Errors and warnings of the console, and exceptions that nobody caught. */
  readonly complaints: string[];
  attribute(name: string): Promise<string>;
  status(): Promise<string>;
  mismatches(): Promise<number>;
  /** Waits until `data-status` is one of these. */
  until(...statuses: string[]): Promise<void>;
  /** Runs to the end, which may take minutes on a busy machine. */
  untilFinished(): Promise<void>;
  press(button: string): Promise<void>;
  close(): Promise<void>;
}

export interface OpenOptions extends BrowserContextOptions {
  /** Runs in the page before anything else. */
  readonly before?: () => void;
}

export async function openDemo(
  browser: Browser,
  url: string,
  options: OpenOptions = {},
): Promise<OpenedDemo> {
  const { before, ...context } = options;
  const opened = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...context });
  const page = await opened.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  if (before) await page.addInitScript(before);
  await page.goto(url);
  const main = page.locator('main');
  const attribute = async (name: string) => (await main.getAttribute(`data-${name}`)) ?? '';
  return {
    page,
    complaints,
    attribute,
    status: () => attribute('status'),
    mismatches: async () => Number(await attribute('mismatches')),
    until: async (...statuses) => {
      await page.locator(statuses.map((status) => `main[data-status="${status}"]`).join(', ')).waitFor();
    },
    untilFinished: () => page.locator('main[data-status="finished"]').waitFor({ timeout: FINISH_MS }),
    press: (button) => page.getByRole('button', { name: button, exact: true }).click(),
    close: () => opened.close(),
  };
}

/** A trace in the own format, as text. */
export function traceText(lines: readonly Record<string, unknown>[]): string {
  const header = { format: 'pagefence-trace', version: 1, block_tokens: 16 };
  return [header, ...lines].map((line) => JSON.stringify(line)).join('\n');
}

export function request(id: string, blocks: readonly number[]): Record<string, unknown> {
  return { id, prompt_tokens: blocks.length * 16 + 3, output_tokens: 4, blocks };
}

export const FAST = 'as fast as it goes';

export async function setSpeed({ page }: OpenedDemo, label: string): Promise<void> {
  await page.getByLabel('Speed').selectOption({ label });
}

export async function choose(demo: OpenedDemo, title: 'Conversations' | 'Hazard'): Promise<void> {
  await demo.page.getByText(title, { exact: true }).click();
  await demo.page.locator(`main[data-trace^="${title === 'Hazard' ? 'hazard' : 'sample'}"]`).waitFor();
  await demo.until('ready');
}

export async function counter({ page }: OpenedDemo, name: string): Promise<string> {
  return (await page.locator(`[data-counter="${name}"]`).innerText()).trim();
}

export async function dropFile({ page }: OpenedDemo, name: string, text: string): Promise<void> {
  const data = await page.evaluateHandle(
    ([fileName, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], fileName));
      return transfer;
    },
    [name, text] as const,
  );
  await page.dispatchEvent('body', 'dragover', { dataTransfer: data });
  await page.dispatchEvent('body', 'drop', { dataTransfer: data });
}
