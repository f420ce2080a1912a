/** Waits that end. */

/** What an implementation did not answer in time. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** The promise, or a `TimeoutError` after `ms` milliseconds. The promise is left to itself then. */
export async function within<Value>(promise: Promise<Value>, ms: number, what: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TimeoutError(`${what} did not settle within ${ms / 1000} s`));
    }, ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
