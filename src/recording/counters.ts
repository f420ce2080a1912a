/** Nested records of numbers as one flat list, and back. */
import { InvariantError } from '../errors.ts';

/** Dotted names of all numbers in `record`, in the order of its fields. */
export function counterNames(record: object): string[] {
  return Object.entries(record).flatMap(([name, value]) =>
    typeof value === 'number' ? [name] : counterNames(value as object).map((inner) => `${name}.${inner}`),
  );
}

export function counterValues(record: object): number[] {
  return Object.values(record).flatMap((value) =>
    typeof value === 'number' ? [value] : counterValues(value as object),
  );
}

/** The record whose names and values these are. */
export function counterRecord(names: readonly string[], values: ArrayLike<number>): object {
  const record: Record<string, unknown> = {};
  names.forEach((name, index) => {
    const path = name.split('.');
    const last = path.pop();
    if (last === undefined) throw new InvariantError('a counter has no name');
    let inner = record;
    for (const part of path) inner = (inner[part] ??= {}) as Record<string, unknown>;
    inner[last] = values[index];
  });
  return record;
}
