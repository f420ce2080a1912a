/** Compares typed arrays, and shows where they differ. */

type Numbers = ArrayLike<number> & { readonly BYTES_PER_ELEMENT: number; readonly constructor: unknown };
export type Bytes = ArrayBuffer | (ArrayBufferView & Partial<Numbers>);

const SHOWN = 16;

/**
 * The first mismatches as an aligned table (index, actual, expected), or undefined where there is none. Two arrays of
 * one type are compared element by element, so that the table has words or floats; anything else byte by byte.
 * Numbers are equal as `Object.is` has it: a NaN equals a NaN, and 0 differs from -0.
 */
export function mismatchTable(actual: Bytes, expected: Bytes): string | undefined {
  const sameType = isNumbers(actual) && isNumbers(expected) && actual.constructor === expected.constructor;
  const [left, right]: [Numbers, Numbers] = sameType
    ? [actual, expected]
    : [asBytes(actual), asBytes(expected)];
  const unit = left.BYTES_PER_ELEMENT === 1 ? 'bytes' : `elements of ${left.BYTES_PER_ELEMENT} bytes`;
  if (left.length !== right.length) return `${left.length} ${unit} where ${right.length} were expected`;

  const rows: [string, string, string][] = [];
  let mismatches = 0;
  for (let index = 0; index < left.length; index++) {
    if (Object.is(left[index], right[index])) continue;
    if (mismatches++ < SHOWN) rows.push([String(index), shown(left, index), shown(right, index)]);
  }
  if (mismatches === 0) return undefined;
  const title = `${mismatches} of ${left.length} ${unit} differ`;
  const rest = mismatches > SHOWN ? [`and ${mismatches - SHOWN} more`] : [];
  return [title, ...aligned([['index', 'actual', 'expected'], ...rows]), ...rest].join('\n');
}

function isNumbers(value: Bytes): value is Bytes & Numbers {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function asBytes(value: Bytes): Numbers {
  return value instanceof ArrayBuffer
    ? new Uint8Array(value)
    : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

/** Whole numbers in hexadecimal too, because test patterns are made of bits. */
function shown(numbers: Numbers, index: number): string {
  const value = numbers[index];
  if (numbers instanceof Float32Array || numbers instanceof Float64Array) return String(value);
  const bits = BigInt.asUintN(numbers.BYTES_PER_ELEMENT * 8, BigInt(value));
  return `${value} (0x${bits.toString(16).padStart(numbers.BYTES_PER_ELEMENT * 2, '0')})`;
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) => row.map((cell, column) => cell.padStart(widths[column])).join('  '));
}
