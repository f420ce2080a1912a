import { chmod } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin, type UserConfig } from 'vite';
import manifest from './package.json' with { type: 'json' };

const source = (path: string) => fileURLToPath(new URL(`src/${path}`, import.meta.url));
const OUT = 'dist';
const CLI = 'cli.js';

/** The library for npm: dependencies stay imports, for the user's bundler or runtime to resolve. */
function library(): UserConfig {
  const packages = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.optionalDependencies)];
  const external = [/^node:/, ...packages.map((name) => new RegExp(`^${name}(/|$)`))];
  return {
    build: {
      lib: {
        entry: { index: source('index.ts'), node: source('runtime/node.ts'), cli: source('cli.ts') },
        formats: ['es'],
      },
      rolldownOptions: { external, output: { chunkFileNames: 'chunks/[name]-[hash].js' } },
    },
    plugins: [makeExecutable],
  };
}

/**
 * One file for `<script type="module">` and for Deno without node_modules: dependencies included. It finds Node's and
 * Deno's adapter through `node.js` beside it, which a page never loads.
 */
function standalone(): UserConfig {
  return {
    build: {
      emptyOutDir: false,
      lib: { entry: { pagefence: source('index.ts') }, formats: ['es'] },
    },
    plugins: [
      {
        name: 'node-entry-stays-outside',
        enforce: 'pre',
        resolveId: (id, importer) =>
          importer === source('runtime/acquire.ts') && id === './node.ts'
            ? { id: './node.js', external: true }
            : null,
      },
    ],
  };
}

const makeExecutable: Plugin = {
  name: 'executable-cli',
  renderChunk: (code, chunk) =>
    chunk.fileName === CLI && !code.startsWith('#!')
      ? { code: `#!/usr/bin/env node\n${code}`, map: null }
      : null,
  writeBundle: async (options, bundle) => {
    if (CLI in bundle) await chmod(`${options.dir ?? OUT}/${CLI}`, 0o755);
  },
};

export default defineConfig(({ mode }) => {
  const { build, ...rest } = mode === 'standalone' ? standalone() : library();
  return {
    ...rest,
    // The repository has no files to be copied as they are.
    publicDir: false,
    build: {
      outDir: OUT,
      target: 'es2022',
      minify: false,
      sourcemap: true,
      reportCompressedSize: false,
      ...build,
    },
  };
});
