import { spawn } from 'node:child_process';
import process from 'node:process';

/** @type {import('node:child_process').ChildProcess | undefined} */
let current;
/** @type {NodeJS.Signals | undefined} */
let received;

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    // Asked a second time, the child gets no more time to clean up.
    current?.kill(received === undefined ? signal : 'SIGKILL');
    received = signal;
  });
}

/** The signal that asked this program to end, if one did. */
export function interruptedBy() {
  return received;
}

/**
 * Runs a program with this one's terminal, hands signals on to it, and waits for its end.
 *
 * @param {string} program
 * @param {readonly string[]} parameters
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<number | string>} its exit status, or what ended it
 */
export function runChild(program, parameters, env = process.env) {
  return new Promise((resolve) => {
    current = spawn(program, parameters, { stdio: 'inherit', env });
    const end = (/** @type {number | string} */ outcome) => {
      current = undefined;
      resolve(outcome);
    };
    current.on('error', (error) => end(error.message));
    current.on('close', (status, signal) => end(status ?? signal ?? 'ended without a status'));
  });
}
