import { Buffer } from 'node:buffer';
import { spawn } from 'node:child_process';
import process from 'node:process';

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
/** @type {NodeJS.Signals | undefined} */
let received;

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    // Asked a second time, the child gets no more time to clean up.
    for (const child of running) child.kill(received === undefined ? signal : 'SIGKILL');
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
  return endOf(spawn(program, parameters, { stdio: 'inherit', env }));
}

/**
 * The same beside other programs: what it prints is kept until its end, so that two of them do not mix.
 *
 * @param {string} program
 * @param {readonly string[]} parameters
 * @returns {Promise<{ outcome: number | string, output: string }>}
 */
export async function runChildAside(program, parameters) {
  const child = spawn(program, parameters, { stdio: ['ignore', 'pipe', 'pipe'] });
  /** @type {Buffer[]} */
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => printed.push(chunk));
  const outcome = await endOf(child);
  return { outcome, output: Buffer.concat(printed).toString() };
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<number | string>}
 */
function endOf(child) {
  running.add(child);
  return new Promise((resolve) => {
    const end = (/** @type {number | string} */ outcome) => {
      running.delete(child);
      resolve(outcome);
    };
    child.on('error', (error) => end(error.message));
    child.on('close', (status, signal) => end(status ?? signal ?? 'ended without a status'));
  });
}
