/** Lets the event loop run, so that promises of the device can settle. */

interface Immediate {
  setImmediate?: (callback: () => void) => unknown;
}

/** Short beside what a person notices, long beside a turn of the event loop. */
const PAUSE_MS = 2;

/** A moment without work. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, PAUSE_MS);
  });
}

/** Once around, and no longer. */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    // In browsers nested timers wait for 4 ms; a message does not, and neither does an immediate elsewhere.
    const { setImmediate } = globalThis as Immediate;
    if (setImmediate !== undefined) {
      setImmediate(resolve);
      return;
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
