/** The declarations that are published, as a strict project without this repository's settings sees them. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const run = promisify(execFile);

const CONSUMER = `
import { createEngine, type EngineConfigInput, type PageLocation, pageId } from './types/src/index.js';
import { acquireAdapter } from './types/src/runtime/node.js';

const config: EngineConfigInput = { cache: { pages: 8, pageBytes: 64, tokensPerPage: 4 } };

export async function pageOf(device: GPUDevice, page: number): Promise<PageLocation> {
  const engine = await createEngine(config, { device, forward: ({ forward }) => console.log(forward.length) });
  const { buffer, offset }: { buffer: GPUBuffer; offset: number } = engine.worker.locate(pageId(page));
  return { ...engine.worker.locate(pageId(page)), buffer, offset };
}

export const onPlainArrays = async (): Promise<string> => (await createEngine(config)).worker.kind;
export const adapter = async (): Promise<GPUAdapter> => (await acquireAdapter()).adapter;
`;

describe('the published declarations', () => {
  let folder: string;

  beforeAll(async () => {
    await mkdir(join(root, '.cache'), { recursive: true });
    folder = await mkdtemp(join(root, '.cache', 'types-'));
    await run(process.execPath, [
      tsc,
      '-p',
      join(root, 'tsconfig.types.json'),
      '--outDir',
      join(folder, 'types'),
    ]);
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'consumer.ts'), CONSUMER);
  });

  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    ['esnext', 'bundler'],
    ['nodenext', 'nodenext'],
  ])('check under module %s, resolution %s, with every library checked', async (module, moduleResolution) => {
    const options = { module, moduleResolution, target: 'es2022', lib: ['es2022', 'dom'], types: [] };
    const compilerOptions = {
      ...options,
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
    };
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['consumer.ts'] }),
    );
    const output = await run(process.execPath, [tsc, '-p', folder]).then(
      ({ stdout }) => stdout,
      (error: unknown) => (error as { stdout: string }).stdout,
    );
    expect(output).toBe('');
  });
});
