/** How readers say what is wrong: where, which field, what was expected, what was there. */
import { z } from 'zod';
import { InputError } from '../errors.ts';
import type { Line } from './line-batches.ts';

const SHOWN_CHARS_MAX = 60;

/** A place in a file. `path` leads to the part of a document that is being read, and is empty for a line. */
export interface Place {
  readonly file: string;
  readonly line: number | null;
  readonly path: string;
}

export function placeOf(file: string, line: Line): Place {
  return { file, line: line.number, path: '' };
}

/** `file:line: field: expected ..., got ...` */
export function unexpected(place: Place, field: string, expected: string, got: string): InputError {
  const position = place.line === null ? place.file : `${place.file}:${place.line}`;
  const name = field === '' || field.startsWith('[') ? `${place.path}${field}` : joined(place.path, field);
  return new InputError(`${position}: ${name === '' ? 'line' : name}: expected ${expected}, got ${got}`);
}

/** Throws what the line's fault says, if it has one. */
export function refuseFault(file: string, line: Line): void {
  if (line.fault !== null) throw new InputError(`${file}:${line.number}: line: ${line.fault}`);
}

/** The JSON value of a line. */
export function jsonOf(file: string, line: Line): unknown {
  refuseFault(file, line);
  try {
    return JSON.parse(line.text) as unknown;
  } catch {
    const cutOff = !line.ended && !line.text.trimEnd().endsWith('}');
    const got = cutOff ? 'one that the end of the file cuts off' : 'text that is not JSON';
    throw unexpected(placeOf(file, line), '', 'one JSON object', `${got}: ${excerpt(line.text)}`);
  }
}

/**
 * Checks a value against a schema whose messages say what is expected of each field. Throws `InputError` for the
 * first field that is not so.
 */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: Place,
): z.output<Schema> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue.path.reduce<string>(
    (path, key) => (typeof key === 'number' ? `${path}[${key}]` : joined(path, String(key))),
    '',
  );
  throw unexpected(place, field, issue.message, shown(issue.input));
}

/** A value, short enough for a message. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return excerpt(JSON.stringify(value));
}

export function excerpt(text: string): string {
  return text.length <= SHOWN_CHARS_MAX
    ? text
    : `${text.slice(0, SHOWN_CHARS_MAX)}... (${text.length} characters)`;
}

/** Token counts stay below what a typed array can hold, and loops over them end. */
const TOKENS_MAX = 2 ** 31 - 1;

export function tokenCount(min: 0 | 1): z.ZodInt {
  const message = `a whole number from ${min} to ${TOKENS_MAX}`;
  return z.int(message).min(min, message).max(TOKENS_MAX, message);
}

const ID_MESSAGE = `a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`;
export const blockIdList = z.array(z.int(ID_MESSAGE).min(0, ID_MESSAGE), 'an array of block ids');

const TIME_MESSAGE = 'a number of at least 0';
export const time = z.number(TIME_MESSAGE).min(0, TIME_MESSAGE);

function joined(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
