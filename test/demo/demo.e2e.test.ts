/** The built page in a real browser, pages on WebGPU. */
import { describe, expect, it } from 'vitest';
import { createServer } from 'vite';
import {
  choose,
  counter,
  DEMO_CONFIG,
  dropFile,
  FAST,
  openDemo,
  request,
  setSpeed,
  traceText,
  useStage,
} from './support.ts';

const stage = useStage();

describe('a run on WebGPU', () => {
  it('starts, steps one by one, pauses, and starts over', async ({ task }) => {
    const demo = await openDemo(stage.browser, stage.site.url);
    await demo.until('ready');
    expect(await demo.attribute('worker')).toBe('webgpu');
    // For the summary of `npm test`.
    task.meta.adapter = await demo.attribute('adapter');
    expect(await demo.attribute('step')).toBe('0');
    for (const step of ['1', '2', '3']) {
      await demo.press('Step');
      await demo.page.locator(`main[data-status="paused"][data-step="${step}"]`).waitFor();
    }
    expect(await demo.page.locator('.last-step').innerText()).toMatch(
      /Last step 2: c01\.t1, .* computed \d+ tokens/,
    );
    await demo.press('Run');
    await demo.page.locator('main[data-status="running"]').waitFor();
    await demo.page.waitForFunction(() => Number(document.querySelector('main')!.dataset.step) > 5);
    await demo.press('Pause');
    await demo.until('paused');
    await demo.press('Reset');
    await demo.until('ready');
    expect(await demo.attribute('step')).toBe('0');
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });

  it('replays the bundled conversations to the end without a mismatch', async () => {
    const demo = await openDemo(stage.browser, stage.site.url);
    await demo.until('ready');
    await setSpeed(demo, FAST);
    await demo.press('Run');
    await demo.untilFinished();
    expect(await demo.mismatches()).toBe(0);
    expect(await counter(demo, 'requests-done')).toBe('315 of 315');
    expect(await counter(demo, 'stores-failed')).toBe('0');
    expect(await counter(demo, 'exposed-pages')).toBe('0');
    expect(Number(await counter(demo, 'flushes'))).toBeGreaterThan(0);
    expect(await counter(demo, 'flush-waits')).toBe('0');
    expect(demo.complaints).toEqual([]);
    await demo.close();
  }, 180_000);

  it('finds no mismatch in the hazard with the fence, and the predicted ones without it', async () => {
    const demo = await openDemo(stage.browser, stage.site.url);
    await demo.until('ready');
    await choose(demo, 'Hazard');
    await setSpeed(demo, FAST);
    await demo.press('Run');
    await demo.untilFinished();
    expect(await demo.attribute('fence')).toBe('complete');
    expect(await demo.mismatches()).toBe(0);
    expect(await demo.page.locator('[data-legend="slot-suspect"]').innerText()).toBe('0');

    await demo.page.getByRole('switch').click();
    await demo.page.locator('main[data-fence="off"][data-status="ready"]').waitFor();
    await demo.press('Run');
    await demo.untilFinished();
    const onGpu = await demo.mismatches();
    expect(onGpu).toBeGreaterThan(0);
    expect(Number(await counter(demo, 'exposed-pages'))).toBeGreaterThan(0);
    expect(Number(await demo.page.locator('[data-legend="slot-suspect"]').innerText())).toBeGreaterThan(0);
    expect(await demo.page.locator('.truth').innerText()).toContain('under a valid key');

    await demo.page.getByLabel('Worker').selectOption('simulated');
    await demo.press('Reset and apply');
    await demo.page.locator('main[data-worker="simulated"][data-status="ready"]').waitFor();
    await demo.press('Run');
    await demo.untilFinished();
    expect(await demo.mismatches(), 'the simulated worker agrees').toBe(onGpu);
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });

  it('goes on with the other fence when it is switched while running', async () => {
    const demo = await openDemo(stage.browser, stage.site.url);
    await demo.until('ready');
    await choose(demo, 'Hazard');
    await setSpeed(demo, '60 steps a second');
    await demo.press('Run');
    await demo.page.getByRole('switch').click();
    await demo.page.locator('main[data-fence="off"]').waitFor();
    await demo.until('running', 'finished');
    await setSpeed(demo, FAST);
    await demo.untilFinished();
    expect(await demo.mismatches()).toBeGreaterThan(0);
    await demo.close();
  });
});

describe('pages and settings', () => {
  it('tells a page’s facts to keyboard and pointer', async () => {
    const demo = await openDemo(stage.browser, stage.site.url);
    await demo.until('ready');
    await demo.press('Step');
    await demo.page.locator('main[data-step="1"]').waitFor();
    const map = demo.page.locator('.page-map canvas').first();
    await map.focus();
    await demo.page.keyboard.press('ArrowRight');
    await demo.page.keyboard.press('ArrowRight');
    const facts = demo.page.locator('.facts');
    await facts.getByRole('heading', { name: 'Page 1' }).waitFor();
    // Three turns of one conversation: their prompts begin alike.
    expect(await facts.innerText()).toMatch(
      /shared[^]*c01\.t1, c01\.t2, c01\.t3[^]*job 0 still has to read it/,
    );
    expect(await facts.locator('[aria-live]').innerText()).toContain('Page 1: shared, 3 references');
    await demo.page.keyboard.press('End');
    await facts.getByRole('heading', { name: 'Page 95' }).waitFor();
    await demo.page.keyboard.press('Escape');
    await facts.getByRole('heading', { name: 'Page facts' }).waitFor();
    const box = (await map.boundingBox())!;
    await demo.page.mouse.move(box.x + 10, box.y + 10);
    await facts.getByRole('heading', { name: 'Page 0' }).waitFor();
    await demo.close();
  });

  it('applies settings with the next reset', async () => {
    const demo = await openDemo(stage.browser, stage.site.url);
    await demo.until('ready');
    await demo.page.getByRole('spinbutton', { name: 'Pages of the pool' }).fill('5000');
    await demo.page.getByRole('spinbutton', { name: 'Host slots' }).fill('0');
    await demo.page.getByLabel('Host policy').selectOption('arc-tier');
    await demo.press('Reset and apply');
    await demo.page.getByText('Offloading is off').waitFor();
    await demo.until('ready');
    await setSpeed(demo, FAST);
    await demo.press('Run');
    await demo.page.waitForFunction(() => Number(document.querySelector('main')!.dataset.step) > 50);
    await demo.press('Pause');
    await demo.until('paused');
    expect(await demo.page.locator('.page-map canvas').first().getAttribute('aria-label')).toContain(
      '5000 pages',
    );
    expect(await demo.mismatches()).toBe(0);
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });
});

describe('traces of one’s own', () => {
  it('replays a dropped file, and one that was chosen', async () => {
    const demo = await openDemo(stage.browser, stage.site.url);
    await demo.until('ready');
    await dropFile(demo, 'mine.jsonl', traceText([request('a', [1, 2, 3]), request('b', [1, 2, 4])]));
    await demo.page.locator('main[data-trace="mine.jsonl"][data-status="ready"]').waitFor();
    await setSpeed(demo, FAST);
    await demo.press('Run');
    await demo.untilFinished();
    expect(await counter(demo, 'requests-done')).toBe('2 of 2');
    expect(await demo.mismatches()).toBe(0);

    const mooncake = { timestamp: 0, input_length: 600, output_length: 2, hash_ids: [46, 47] };
    await demo.page.getByLabel('Trace files').setInputFiles({
      name: 'mooncake.jsonl',
      mimeType: 'application/jsonl',
      buffer: Buffer.from(`${JSON.stringify(mooncake)}\n`),
    });
    await demo.page.locator('main[data-trace="mooncake.jsonl"][data-status="ready"]').waitFor();
    await demo.press('Run');
    await demo.untilFinished();
    expect(await counter(demo, 'requests-done')).toBe('1 of 1');
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });

  it('produces one token a request, or the recorded ones where that is set', async () => {
    const demo = await openDemo(stage.browser, stage.site.url);
    await demo.until('ready');
    await setSpeed(demo, FAST);
    await dropFile(demo, 'long.jsonl', traceText([{ ...request('a', [1, 2]), output_tokens: 40 }]));
    await demo.page.locator('main[data-trace="long.jsonl"][data-status="ready"]').waitFor();
    const about = demo.page.locator('.traces .about');
    expect(await about.innerText()).toContain('each request produces one token');
    const outputTokens = demo.page.getByLabel('Output tokens');
    expect(await outputTokens.inputValue()).toBe('1');
    await demo.press('Run');
    await demo.untilFinished();
    expect(Number(await demo.attribute('step'))).toBeLessThan(10);

    await outputTokens.selectOption('trace');
    await demo.press('Reset and apply');
    await demo.until('ready');
    expect(await about.innerText()).toContain('each request produces as many tokens as were recorded');
    await demo.press('Run');
    await demo.untilFinished();
    expect(Number(await demo.attribute('step'))).toBeGreaterThanOrEqual(40);
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });

  it('begin with the fence on, whatever it was before, and stay on the chosen worker', async () => {
    const demo = await openDemo(stage.browser, stage.site.url);
    await demo.until('ready');
    const fence = demo.page.getByRole('switch');
    const switchOff = async () => {
      await fence.click();
      await demo.page.locator('main[data-fence="off"][data-status="ready"]').waitFor();
      expect(await fence.isChecked()).toBe(false);
    };
    await demo.page.getByLabel('Worker').selectOption('simulated');
    await switchOff();
    await dropFile(demo, 'mine.jsonl', traceText([request('a', [1, 2, 3])]));
    await demo.page
      .locator('main[data-trace="mine.jsonl"][data-fence="complete"][data-status="ready"]')
      .waitFor();
    expect(await fence.isChecked()).toBe(true);
    await switchOff();
    await choose(demo, 'Hazard');
    expect([await demo.attribute('fence'), await fence.isChecked()]).toEqual(['complete', true]);
    expect(await demo.attribute('worker')).toBe('simulated');
    // A file that cannot be read changes nothing.
    await switchOff();
    await dropFile(demo, 'photo.png', '\u0000PNG');
    await demo.page.getByRole('alert').waitFor();
    expect([await demo.attribute('fence'), await fence.isChecked()]).toEqual(['off', false]);
    await demo.close();
  });

  it('refuses a broken file by file, line and field, and keeps the run', async () => {
    const demo = await openDemo(stage.browser, stage.site.url);
    await demo.until('ready');
    await demo.press('Step');
    await demo.page.locator('main[data-step="1"]').waitFor();
    const broken = traceText([request('a', [1, 2]), { ...request('b', [1]), prompt_tokens: 'many' }]);
    await dropFile(demo, 'broken.jsonl', broken);
    const alert = demo.page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toMatch(/broken\.jsonl:3: prompt_tokens: expected .*, got "many"/);
    expect(await demo.status()).toBe('paused');
    await demo.press('Step');
    await demo.page.locator('main[data-step="2"]').waitFor();
    expect(await alert.count()).toBe(0);
    await dropFile(demo, 'photo.png', '\u0000PNG');
    await alert.waitFor();
    expect(await alert.innerText()).toContain('photo.png');
    await demo.close();
  });
});

describe('the development server', () => {
  it('serves the same page without a complaint', async () => {
    const server = await createServer({
      configFile: DEMO_CONFIG,
      logLevel: 'error',
      server: { port: 0, host: '127.0.0.1' },
    });
    await server.listen();
    try {
      const demo = await openDemo(stage.browser, server.resolvedUrls!.local[0]);
      await demo.until('ready');
      await demo.press('Step');
      await demo.page.locator('main[data-step="1"]').waitFor();
      expect(demo.complaints).toEqual([]);
      await demo.close();
    } finally {
      await server.close();
    }
  }, 120_000);
});
