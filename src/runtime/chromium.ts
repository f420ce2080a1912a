/** A Chromium to run pages in: one named by the user, an installed one, or the one in an npm package. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { posix, win32 } from 'node:path';
import process from 'node:process';
import { ConfigError } from '../errors.ts';
import {
  cacheFolder,
  fillFolderOnce,
  findSoftwarePackage,
  SOFTWARE_PACKAGE,
  unpackExecutable,
  unpackTar,
  type SoftwarePackage,
  type Environment,
} from './software-package.ts';

export interface Browser {
  readonly executable: string;
  readonly source: 'PAGEFENCE_BROWSER' | 'installed' | typeof SOFTWARE_PACKAGE;
  /** Variables to set for it on top of the environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What the search looks at; a test puts its own in place. */
export interface BrowserHost {
  readonly platform: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  exists(path: string): boolean;
  unpack(): Promise<Browser | undefined>;
}

const thisHost: BrowserHost = {
  platform: process.platform,
  env: process.env,
  // Only when it is needed: in Deno the question alone takes a permission.
  get home() {
    return homedir();
  },
  exists: existsSync,
  unpack: unpackBrowser,
};

/** What `findBrowser` looked for, for a message. */
export const browserSearched = `PAGEFENCE_BROWSER, an installed Chrome, Chromium or Edge, and ${SOFTWARE_PACKAGE} (Linux on x64)`;

/** The browser to use, or undefined. Throws `ConfigError` where `PAGEFENCE_BROWSER` names no file. */
export async function findBrowser(host: BrowserHost = thisHost): Promise<Browser | undefined> {
  const named = host.env.PAGEFENCE_BROWSER;
  if (named !== undefined && named !== '') {
    if (!host.exists(named)) {
      throw new ConfigError(
        `PAGEFENCE_BROWSER is ${named}, which does not exist; set it to the executable of a Chromium, or unset it`,
      );
    }
    return { executable: named, source: 'PAGEFENCE_BROWSER', environment: {} };
  }
  const installed = installedPaths(host).find((path) => host.exists(path));
  if (installed !== undefined) return { executable: installed, source: 'installed', environment: {} };
  return host.unpack();
}

/** Where the platforms put Chrome, Chromium and Edge, in that order. */
function installedPaths({ platform, env, home }: BrowserHost): string[] {
  if (platform === 'darwin') {
    return ['Google Chrome', 'Chromium', 'Microsoft Edge'].flatMap((name) =>
      ['/Applications', posix.join(home, 'Applications')].map((folder) =>
        posix.join(folder, `${name}.app/Contents/MacOS/${name}`),
      ),
    );
  }
  if (platform === 'win32') {
    const roots = [env.PROGRAMFILES, env['PROGRAMFILES(X86)'], env.LOCALAPPDATA];
    return [
      'Google\\Chrome\\Application\\chrome.exe',
      'Chromium\\Application\\chrome.exe',
      'Microsoft\\Edge\\Application\\msedge.exe',
    ].flatMap((file) => roots.filter((root) => root !== undefined).map((root) => win32.join(root, file)));
  }
  const folders = (env.PATH ?? '').split(':').filter((folder) => folder !== '');
  return [
    'google-chrome-stable',
    'google-chrome',
    'chromium',
    'chromium-browser',
    'microsoft-edge-stable',
    'microsoft-edge',
  ].flatMap((name) => folders.map((folder) => posix.join(folder, name)));
}

async function unpackBrowser(): Promise<Browser | undefined> {
  const source = await findSoftwarePackage();
  if (source === undefined) return undefined;
  const folder = posix.join(cacheFolder(), `chromium-${source.version}`);
  await fillFolderOnce(folder, (temporary) => fillBrowserFolder(source, temporary));

  const libraries = [posix.join(folder, 'lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  const environment: Record<string, string> = { LD_LIBRARY_PATH: libraries };
  // Without any font Chromium draws boxes for letters.
  if (!existsSync('/etc/fonts/fonts.conf')) environment.FONTCONFIG_FILE = posix.join(folder, 'fonts.conf');
  return { executable: posix.join(folder, 'chromium'), source: SOFTWARE_PACKAGE, environment };
}

/** The browser with its own graphics libraries beside it, NSS and NSPR in `lib`, and a font. */
async function fillBrowserFolder({ archives }: SoftwarePackage, folder: string): Promise<void> {
  await unpackTar(posix.join(archives, 'swiftshader.tar.br'), folder);
  await unpackTar(posix.join(archives, 'al2023.tar.br'), folder);
  await unpackTar(posix.join(archives, 'fonts.tar.br'), folder);
  // The package's own file names folders of the service that it is made for.
  await writeFile(
    posix.join(folder, 'fonts.conf'),
    '<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n<fontconfig>\n' +
      '  <dir prefix="relative">fonts</dir>\n  <cachedir prefix="xdg">fontconfig</cachedir>\n</fontconfig>\n',
  );
  await unpackExecutable(posix.join(archives, 'chromium.br'), posix.join(folder, 'chromium'));
}

/** Options for Playwright's `chromium.launch`: headless, with WebGPU; on Linux on a software adapter. */
export function launchOptions(
  browser: Browser,
  host: { readonly platform: string; readonly env: Environment; readonly getuid?: () => number } = process,
) {
  const args = ['--enable-unsafe-webgpu'];
  // Headless Chromium on Linux does not reach a GPU without set-up of its own; elsewhere it does.
  if (host.platform === 'linux') args.push('--use-webgpu-adapter=swiftshader', '--enable-unsafe-swiftshader');
  // Root has no sandbox, and many Linux systems refuse one to a browser that no package manager put there. It opens
  // this project's pages only.
  if (host.getuid?.() === 0 || browser.source === SOFTWARE_PACKAGE) args.push('--no-sandbox');
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...host.env, ...browser.environment })) {
    if (value !== undefined) env[name] = value;
  }
  return { executablePath: browser.executable, headless: true, args, env };
}
