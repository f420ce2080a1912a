import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here('.'),
  publicDir: here('public'),
  // Relative addresses: the build works from any folder of any web server.
  base: './',
  build: {
    outDir: here('../dist-demo'),
    emptyOutDir: true,
    target: 'es2022',
    // A preload polyfill would add an inline script, which the page's content security policy forbids.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // The library is free of side effects and says so; the demo's first import exists for its effect.
      treeshake: { moduleSideEffects: (id) => id.startsWith(here('src/')) },
    },
  },
  server: { fs: { allow: [here('..')] } },
});
