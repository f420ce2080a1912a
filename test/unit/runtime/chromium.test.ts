import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/errors.ts';
import { findBrowser, launchOptions, type Browser, type BrowserHost } from '../../../src/runtime/chromium.ts';

const unpacked: Browser = {
  executable: '/cache/chromium',
  source: '@sparticuz/chromium',
  environment: { LD_LIBRARY_PATH: '/cache/lib' },
};

function machine(files: readonly string[], parts: Partial<BrowserHost> = {}): BrowserHost {
  return {
    platform: 'linux',
    env: { PATH: '/usr/local/bin:/usr/bin' },
    home: '/home/me',
    exists: (path) => files.includes(path),
    unpack: () => Promise.resolve(unpacked),
    ...parts,
  };
}

describe('findBrowser', () => {
  it('takes the one that the user names, before an installed one', async () => {
    const host = machine(['/opt/mine', '/usr/bin/chromium'], {
      env: { PATH: '/usr/bin', PAGEFENCE_BROWSER: '/opt/mine' },
    });
    expect(await findBrowser(host)).toMatchObject({ executable: '/opt/mine', source: 'PAGEFENCE_BROWSER' });
  });

  it('refuses a named one that does not exist, and does not look on', async () => {
    const host = machine(['/usr/bin/chromium'], {
      env: { PATH: '/usr/bin', PAGEFENCE_BROWSER: '/opt/gone' },
    });
    await expect(findBrowser(host)).rejects.toThrow(ConfigError);
    await expect(findBrowser(host)).rejects.toThrow(/\/opt\/gone/);
  });

  it('takes an empty name for none', async () => {
    const host = machine(['/usr/bin/chromium'], { env: { PATH: '/usr/bin', PAGEFENCE_BROWSER: '' } });
    expect((await findBrowser(host))?.executable).toBe('/usr/bin/chromium');
  });

  it('prefers Chrome to Chromium to Edge, wherever on the path each lies', async () => {
    const all = ['/usr/local/bin/microsoft-edge', '/usr/local/bin/chromium', '/usr/bin/google-chrome'];
    expect((await findBrowser(machine(all)))?.executable).toBe('/usr/bin/google-chrome');
    expect((await findBrowser(machine(all.slice(0, 2))))?.executable).toBe('/usr/local/bin/chromium');
    expect((await findBrowser(machine(all.slice(0, 1))))?.executable).toBe('/usr/local/bin/microsoft-edge');
  });

  it('unpacks the one of the package last', async () => {
    expect(await findBrowser(machine([]))).toBe(unpacked);
    expect(await findBrowser(machine([], { unpack: () => Promise.resolve(undefined) }))).toBeUndefined();
  });

  it("looks in macOS's application folders", async () => {
    const edge = '/home/me/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge';
    const chrome = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';
    expect((await findBrowser(machine([edge, chrome], { platform: 'darwin' })))?.executable).toBe(chrome);
    expect((await findBrowser(machine([edge], { platform: 'darwin' })))?.executable).toBe(edge);
  });

  it("looks in Windows's program folders", async () => {
    const chrome = 'D:\\Programs\\Google\\Chrome\\Application\\chrome.exe';
    const host = machine([chrome], { platform: 'win32', env: { LOCALAPPDATA: 'D:\\Programs' } });
    expect((await findBrowser(host))?.executable).toBe(chrome);
  });
});

describe('launchOptions', () => {
  const installed: Browser = { executable: '/usr/bin/chromium', source: 'installed', environment: {} };
  const user = { platform: 'linux' as const, env: { HOME: '/home/me' }, getuid: () => 1000 };

  it('keeps the sandbox for an installed browser, unless root runs it', () => {
    expect(launchOptions(installed, user).args).not.toContain('--no-sandbox');
    expect(launchOptions(installed, { ...user, getuid: () => 0 }).args).toContain('--no-sandbox');
    expect(launchOptions(unpacked, user).args).toContain('--no-sandbox');
  });

  it("asks for software on Linux, and for the machine's own adapter elsewhere", () => {
    expect(launchOptions(installed, user).args).toContain('--use-webgpu-adapter=swiftshader');
    const mac = launchOptions(installed, { ...user, platform: 'darwin' });
    expect(mac.args).toEqual(['--enable-unsafe-webgpu']);
  });

  it("adds the browser's variables to the environment", () => {
    expect(launchOptions(unpacked, user).env).toEqual({ HOME: '/home/me', LD_LIBRARY_PATH: '/cache/lib' });
  });
});
