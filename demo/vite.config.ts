import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** A page finds its adapter in the browser: what finds it elsewhere stays out of the bundle. */
const browserAdapterOnly: Plugin = {
  name: 'browser-adapter-only',
  enforce: 'pre',
  resolveId: (id, importer) =>
    importer === here('../src/index.ts') && id === './runtime/acquire.ts'
      ? here('../src/runtime/browser.ts')
      : null,
};

export default defineConfig({
  root: here('.'),
  publicDir: here('public'),
  // Relative addresses: the build works from any folder of any web server.
  base: './',
  plugins: [browserAdapterOnly],
  build: {
    outDir: here('../dist-demo'),
    emptyOutDir: true,
    target: 'es2022',
    // A preload polyfill would add an inline script, which the page's content security policy forbids.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: {
        index: here('index.html'),
        text: here('text.html'),
        tour: here('tour.html'),
        conformance: here('conformance.html'),
        bandwidth: here('bandwidth.html'),
      },
      // The library is free of side effects and says so; the demo's first import exists for its effect.
      treeshake: { moduleSideEffects: (id) => id.startsWith(here('src/')) },
    },
  },
});
