/** Lets the event loop run once, so that promises of the device can settle. */

interface Immediate {
  setImmediate?: (callback: () => void) => unknown;
}

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
