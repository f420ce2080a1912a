/** Reads the values of options. Each function throws what commander prints behind the option's name and value. */
import { InvalidArgumentError } from 'commander';

export interface Range {
  readonly min: number;
  readonly max?: number;
  readonly multipleOf?: number;
}

const UNITS: Readonly<Record<string, number>> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** More pages, slots or bytes than this are a slip of the hand. */
const COUNT_MAX = 2 ** 31;
const BYTES_MAX = 2 ** 40;

/** A whole number: digits alone. */
export function count(range: Range): (text: string) => number {
  return (text) => inRange(/^\d+$/.test(text) ? Number(text) : NaN, { max: COUNT_MAX, ...range });
}

/** Bytes: digits, then nothing or one of KiB, MiB and GiB. */
export function bytes(range: Range): (text: string) => number {
  return (text) => {
    const [, digits = '', unit = ''] = /^(\d+)(|KiB|MiB|GiB)$/.exec(text) ?? [];
    const all = { max: BYTES_MAX, ...range };
    return inRange(
      digits === '' ? NaN : Number(digits) * UNITS[unit],
      all,
      ', in bytes or with KiB, MiB or GiB',
    );
  };
}

/** A whole number, or one of a few words. */
export function countOr<Word extends string>(
  range: Range,
  words: readonly Word[],
): (text: string) => number | Word {
  const parse = count(range);
  return (text) => {
    const word = words.find((each) => each === text);
    if (word !== undefined) return word;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw new InvalidArgumentError(`${error.message.replace(/\.$/, '')}, or ${words.join(' or ')}.`);
    }
  };
}

/** A list that may be given in one go with commas, by repeating the option, or both. */
export function list<Item>(
  parse: (text: string) => Item,
): (text: string, previous?: readonly Item[]) => Item[] {
  return (text, previous = []) => [...previous, ...text.split(',').map((each) => parse(each.trim()))];
}

/** One of a few words. */
export function oneOf<Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((each) => each === text);
    if (word === undefined) throw new InvalidArgumentError(`Use ${words.join(' or ')}.`);
    return word;
  };
}

/** A number with or without a fraction. */
export function decimal({
  min,
  max,
}: {
  readonly min: number;
  readonly max: number;
}): (text: string) => number {
  return (text) => {
    const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Use a number from ${min} to ${max}.`);
  };
}

/** Token ids with commas between them: one prompt each time that the option is given. */
export function promptIds(text: string, previous: readonly number[][] = []): number[][] {
  return [...previous, list(count({ min: 0 }))(text)];
}

function inRange(value: number, { min, max = COUNT_MAX, multipleOf = 1 }: Range, note = ''): number {
  if (value >= min && value <= max && value % multipleOf === 0) return value;
  const kind = multipleOf === 1 ? 'a whole number' : `a multiple of ${multipleOf}`;
  throw new InvalidArgumentError(`Use ${kind} from ${min} to ${max}${note}.`);
}

/** Seeds: `A..B`, both included, or one. */
export function seedRange(text: string): { first: number; last: number } {
  const [, first, last = first] = /^(\d+)(?:\.\.(\d+))?$/.exec(text) ?? [];
  const range = { first: Number(first), last: Number(last) };
  if (first === undefined || range.last < range.first || range.last > SEED_MAX) {
    throw new InvalidArgumentError(`Use A..B with whole numbers, 0 <= A <= B <= ${SEED_MAX}.`);
  }
  return range;
}

const SEED_MAX = 2 ** 32 - 1;
