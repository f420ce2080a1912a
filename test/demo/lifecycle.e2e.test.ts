/** Runs that begin, end and fail at the wrong moment; and browsers without WebGPU. */
import { describe, expect, it } from 'vitest';
import { choose, counter, FAST, openDemo, setSpeed, type OpenedDemo, useStage } from './support.ts';

const stage = useStage();

/** Counts the devices of a page and lets a test lose one. */
function watchDevices(): void {
  const devices: GPUDevice[] = [];
  const adapters = new Set<GPUAdapter>();
  const state = { devices, lost: 0, adapters };
  Object.assign(window, { watched: state });
  // eslint-disable-next-line @typescript-eslint/unbound-method
  const original = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (descriptor) {
    adapters.add(this);
    const device = await original.call(this, descriptor);
    devices.push(device);
    void device.lost.then(() => (state.lost += 1));
    return device;
  };
}

interface Watched {
  readonly devices: GPUDevice[];
  readonly lost: number;
  readonly adapters: Set<GPUAdapter>;
}

const watched = ({ page }: OpenedDemo) =>
  page.evaluate(() => {
    const { devices, lost, adapters } = (window as unknown as { watched: Watched }).watched;
    return { devices: devices.length, adapters: adapters.size, live: devices.length - lost };
  });

describe('lifecycle', () => {
  it('has exactly one run live, however wildly the buttons are pressed', async () => {
    const demo = await openDemo(stage.browser, stage.site.url, { before: watchDevices });
    await demo.until('ready');
    await setSpeed(demo, FAST);
    // As fast as a page can be clicked: in one task, and from one task to the next.
    await demo.page.evaluate(async () => {
      const press = (name: string) => {
        const buttons = [...document.querySelectorAll('button')];
        buttons.find((button) => button.textContent.includes(name))?.click();
      };
      for (let round = 0; round < 12; round += 1) {
        press('Run');
        press('Reset');
        press('Step');
        if (round % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 15 * round));
        press('Run');
        document.querySelector<HTMLInputElement>('[role=switch]')!.click();
        press('Reset');
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
    await demo.page.getByText('Hazard', { exact: true }).click();
    await demo.page.locator('main[data-trace^="hazard"][data-status="ready"]').waitFor();
    expect(await demo.attribute('step')).toBe('0');
    expect(await demo.page.getByRole('alert').count()).toBe(0);
    const { devices, adapters, live } = await watched(demo);
    expect(live, 'live devices').toBe(1);
    expect(devices).toBeGreaterThan(1);
    expect(adapters, 'an adapter for each device').toBe(devices);
    await demo.press('Run');
    await demo.untilFinished();
    expect(await counter(demo, 'requests-done')).toBe('40 of 40');
    expect(await demo.attribute('step')).toBe('250');
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });

  it('says that the device was lost in mid-run, and starts again on a new one', async () => {
    const demo = await openDemo(stage.browser, stage.site.url, { before: watchDevices });
    await demo.until('ready');
    await setSpeed(demo, FAST);
    await demo.press('Run');
    // From inside the page: on a busy machine the run would be over before a word from outside arrives.
    await demo.page.waitForFunction(() => {
      if (Number(document.querySelector('main')!.dataset.step) <= 20) return false;
      (window as unknown as { watched: Watched }).watched.devices.at(-1)!.destroy();
      return true;
    });
    await demo.until('lost');
    expect(await demo.page.getByRole('alert').innerText()).toContain('The GPU device was lost');
    await demo.press('Run again');
    await demo.until('running');
    expect(await demo.page.getByRole('alert').count()).toBe(0);
    await demo.page.waitForFunction(() => Number(document.querySelector('main')!.dataset.step) > 20);
    expect((await watched(demo)).live).toBe(1);
    expect(await demo.mismatches()).toBe(0);
    await demo.close();
  });
});

describe('without WebGPU', () => {
  it('works on the simulated worker, and says why', async () => {
    const demo = await openDemo(stage.browser, stage.site.url, {
      before: () => Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined }),
    });
    await demo.until('ready');
    expect(await demo.attribute('worker')).toBe('simulated');
    const place = await demo.page.locator('.place').innerText();
    expect(place).toContain('navigator.gpu is undefined');
    expect(place).toContain('https');
    await choose(demo, 'Hazard');
    await setSpeed(demo, FAST);
    await demo.press('Run');
    await demo.untilFinished();
    expect(await demo.mismatches()).toBe(0);
    expect(demo.complaints).toEqual([]);
    await demo.close();
  });

  it('does so where the browser has WebGPU and no adapter', async () => {
    const demo = await openDemo(stage.browser, stage.site.url, {
      before: () => {
        GPU.prototype.requestAdapter = () => Promise.resolve(null);
      },
    });
    await demo.until('ready');
    expect(await demo.attribute('worker')).toBe('simulated');
    expect(await demo.page.locator('.place').innerText()).toContain('gave null');
    await demo.close();
  });
});
