/** `pagefence bench gpu`: how fast pages move on this runtime and adapter. */
import { measureBandwidth } from '../bandwidth/bandwidth.ts';
import { acquireAdapter } from '../runtime/acquire.ts';
import { bandwidthText } from './bandwidth-text.ts';
import { STATUS_INTERRUPTED, writeText, type CliIo } from './io.ts';
import { createProgress, NO_PROGRESS, type Progress } from './progress.ts';

export interface BenchGpuCliOptions {
  readonly pageBytes?: readonly number[];
  readonly bytes: number;
  readonly runs: number;
  readonly json?: boolean;
}

/** 0, or 130 when it was interrupted. Throws `ConfigError` for sizes that cannot be, `DeviceError` without an adapter. */
export async function benchGpuCommand(options: BenchGpuCliOptions, io: CliIo): Promise<number> {
  const { pageBytes: pageSizes, bytes, runs, json = false } = options;
  const stop = new AbortController();
  const release = io.onInterrupt(() => stop.abort());
  let progress: Progress = NO_PROGRESS;
  try {
    const result = await measureBandwidth({
      ...{ acquire: acquireAdapter, pageSizes, bytes, runs, signal: stop.signal },
      onProgress: async ({ done, total }) => {
        if (progress === NO_PROGRESS) {
          progress = await createProgress({ stream: io.stderr, total, unit: 'lists of pages' });
        }
        progress.update(done);
      },
    });
    progress.stop();
    await writeText(io.stdout, json ? `${JSON.stringify(result)}\n` : bandwidthText(result));
    return stop.signal.aborted ? STATUS_INTERRUPTED : 0;
  } finally {
    progress.stop();
    release();
  }
}
