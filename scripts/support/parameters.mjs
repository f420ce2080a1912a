/** A command line that cannot be meant. Ends a script with status 2 and its message, before anything has run. */
export class UsageError extends Error {}

/**
 * Splits `--runtime NAME` and `--runtime=NAME`, which may be repeated, from everything else. Throws `UsageError` for
 * any other name.
 *
 * @template {string} Name
 * @param {readonly string[]} parameters
 * @param {readonly Name[]} runtimes
 * @returns {{ chosen: Name[], rest: string[] }}
 */
export function splitRuntimes(parameters, runtimes) {
  /** @type {Name[]} */
  const chosen = [];
  /** @type {string[]} */
  const rest = [];
  for (let at = 0; at < parameters.length; at += 1) {
    const [option, inline] = parameters[at].split('=', 2);
    if (option !== '--runtime') {
      rest.push(parameters[at]);
      continue;
    }
    at += inline === undefined ? 1 : 0;
    const name = inline ?? parameters[at];
    const known = runtimes.find((runtime) => runtime === name);
    if (known === undefined) {
      const got = name === undefined || name === '' ? 'has no value' : `is ${name}`;
      throw new UsageError(`--runtime ${got}; use one of ${runtimes.join(', ')}`);
    }
    chosen.push(known);
  }
  return { chosen, rest };
}
