import { describe, expect, it } from 'vitest';
import { DeviceError } from '../../../src/errors.ts';
import type { NativeHost } from '../../../src/runtime/native-host.ts';
import { acquireFrom } from '../../../src/runtime/node.ts';

const driver = { loader: 'loader', manifest: 'manifest' };
const own = { info: { description: 'own' } } as GPUAdapter;
const software = { info: { description: 'SwiftShader' } } as GPUAdapter;

/** A host that has an adapter of its own or not, takes the driver or not, and notes what it is asked. */
function fakeHost(has: { own?: boolean; obstacle?: string; refuses?: boolean; asksOnce?: boolean }) {
  const log: string[] = [];
  let offered = false;
  const host: NativeHost = {
    runtime: has.asksOnce ? 'deno' : 'node',
    mayAskAgain: !has.asksOnce,
    ownAdapterObstacle: () => has.obstacle,
    useDriver: ({ loader }) => {
      log.push(`use ${loader}`);
      if (has.refuses) throw new Error('cannot be loaded');
      offered = true;
    },
    requestAdapter: () => {
      log.push('request');
      return Promise.resolve(has.own ? own : offered ? software : null);
    },
  };
  const find = (found: typeof driver | undefined) => () => {
    log.push('find driver');
    return Promise.resolve(found);
  };
  return { host, log, find };
}

describe('the order of adapters where one may ask again (Node)', () => {
  it("takes the machine's own, and then unpacks nothing", async () => {
    const { host, log, find } = fakeHost({ own: true });
    expect((await acquireFrom(host, find(driver))).description).toBe('own');
    expect(log).toEqual(['request']);
  });

  it('takes the software driver after it', async () => {
    const { host, log, find } = fakeHost({});
    expect(await acquireFrom(host, find(driver))).toMatchObject({
      description: 'SwiftShader',
      software: true,
    });
    expect(log).toEqual(['request', 'find driver', 'use loader', 'request']);
  });

  it('does not ask for an own one where there cannot be any', async () => {
    const { host, log, find } = fakeHost({ obstacle: 'no Vulkan loader' });
    await acquireFrom(host, find(driver));
    expect(log).toEqual(['find driver', 'use loader', 'request']);
  });

  it('names everything that was tried', async () => {
    const { host, find } = fakeHost({ obstacle: 'no Vulkan loader', refuses: true });
    const refused = acquireFrom(host, find(driver));
    await expect(refused).rejects.toThrow(DeviceError);
    await expect(refused).rejects.toThrow(/no Vulkan loader.*@sparticuz\/chromium \(cannot be loaded\)/);
  });

  it('says what to install where the package is missing', async () => {
    const { host, find } = fakeHost({});
    await expect(acquireFrom(host, find(undefined))).rejects.toThrow(
      /own \(none found\).*(npm install @sparticuz\/chromium|Linux on x64 only)/,
    );
  });

  it('says so where the driver loads but gives no adapter', async () => {
    const { host, find } = fakeHost({});
    const deaf: NativeHost = { ...host, requestAdapter: () => Promise.resolve(null) };
    await expect(acquireFrom(deaf, find(driver))).rejects.toThrow(/loaded, but refused/);
  });
});

describe('the order of adapters where the first answer is kept (Deno)', () => {
  it('offers the driver first, asks once, and leaves the choice to the runtime', async () => {
    const { host, log, find } = fakeHost({ asksOnce: true, own: true });
    expect((await acquireFrom(host, find(driver))).description).toBe('own');
    expect(log).toEqual(['find driver', 'use loader', 'request']);
  });

  it('asks without the driver where there is none, or none that loads', async () => {
    const without = fakeHost({ asksOnce: true, own: true });
    expect((await acquireFrom(without.host, without.find(undefined))).description).toBe('own');
    const refusing = fakeHost({ asksOnce: true, own: true, refuses: true });
    expect((await acquireFrom(refusing.host, refusing.find(driver))).description).toBe('own');
  });
});
