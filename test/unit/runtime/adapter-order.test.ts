import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DeviceError } from '../../../src/errors.ts';
import manifest from '../../../package.json' with { type: 'json' };
import { WEBGPU_SPEC, type NativeHost } from '../../../src/runtime/native-host.ts';
import { acquireFrom } from '../../../src/runtime/node.ts';
import { SOFTWARE_PACKAGE_SPEC } from '../../../src/runtime/software-package.ts';

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

  it.each([
    [
      'linux',
      'x64',
      "(not installed). Install a Vulkan driver for this machine's GPU, or a software one: " +
        'npm install @sparticuz/chromium@153',
    ],
    [
      'linux',
      'arm64',
      "(for Linux on x64 only, and this is linux on arm64). Install a Vulkan driver for this machine's GPU",
    ],
    [
      'darwin',
      'arm64',
      '(for Linux on x64 only, and this is darwin on arm64). Metal, which it takes, comes with macOS: update macOS',
    ],
    [
      'win32',
      'x64',
      '(for Linux on x64 only, and this is win32 on x64). Direct3D 12, which it takes, comes with the graphics ' +
        'driver: update that',
    ],
  ])('says what to install on %s %s', async (platform, arch, end) => {
    const { host, find } = fakeHost({});
    await expect(acquireFrom(host, find(undefined), {}, { platform, arch })).rejects.toThrow(
      new DeviceError(
        `no WebGPU adapter for node on ${platform} ${arch}. Tried the machine's own (none found) and the software ` +
          `driver in @sparticuz/chromium ${end}`,
      ),
    );
  });

  it('does not advise to install what is there', async () => {
    const { host, find } = fakeHost({ refuses: true });
    await expect(acquireFrom(host, find(driver), {}, { platform: 'linux', arch: 'x64' })).rejects.toThrow(
      /\(cannot be loaded\)\. Install a Vulkan driver for this machine's GPU$/,
    );
  });

  it('says so where the driver loads but gives no adapter', async () => {
    const { host, find } = fakeHost({});
    const deaf: NativeHost = { ...host, requestAdapter: () => Promise.resolve(null) };
    await expect(acquireFrom(deaf, find(driver))).rejects.toThrow(/loaded, but refused/);
  });
});

describe('what messages tell to install', () => {
  it('is what the tests run on', () => {
    const { devDependencies, optionalDependencies } = manifest;
    const major = /^\^(\d+)\./.exec(devDependencies['@sparticuz/chromium'])![1];
    expect(SOFTWARE_PACKAGE_SPEC).toBe(`@sparticuz/chromium@${major}`);
    const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
    expect(readme).toContain(`npm install ${SOFTWARE_PACKAGE_SPEC}`);
    const [, minor] = /^\^(0\.\d+)\./.exec(optionalDependencies.webgpu)!;
    expect(WEBGPU_SPEC).toBe(`webgpu@${minor}`);
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

  it('names the permission that keeps the driver out, in words and for a program', async () => {
    const { host, find } = fakeHost({ asksOnce: true });
    const denied = new Error('Requires ffi access to "/x.so", run again with the --allow-ffi flag');
    const shut: NativeHost = {
      ...host,
      useDriver: () => {
        throw denied;
      },
    };
    const refused = acquireFrom(shut, find(driver));
    await expect(refused).rejects.toThrow(/\. Run Deno with --allow-ffi, or with -A for all that it takes$/);
    await expect(refused).rejects.toMatchObject({ cause: denied });
  });
});
