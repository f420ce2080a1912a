/** The demo, built and served as a user would put it on a web server. */
import { join } from 'node:path';
import { build, preview } from 'vite';

export interface ServedDemo {
  /** Address of the folder that the pages are in, with a slash at its end. */
  readonly url: string;
  close(): Promise<void>;
}

/** `root` is the repository. The server's root is `served`, the build goes to `folder` in it: '' or a path with slashes. */
export async function serveDemo(root: string, served: string, folder: string): Promise<ServedDemo> {
  await build({
    configFile: join(root, 'demo/vite.config.ts'),
    logLevel: 'error',
    build: { outDir: join(served, folder), emptyOutDir: true },
  });
  const server = await preview({
    configFile: false,
    root: served,
    logLevel: 'error',
    build: { outDir: '.' },
    preview: { port: 0, host: '127.0.0.1' },
  });
  const address = server.httpServer.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/${folder === '' ? '' : `${folder}/`}`,
    close: () => server.close(),
  };
}
