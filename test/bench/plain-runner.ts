/**
 * The few names of Vitest that benchmarks use, without Vitest: in Node and Deno they are built like the library and
 * run by themselves, since a test runner's module loading slows down whatever consists of many small calls.
 * Arguments after the file select tests by a part of their names.
 */
import process from 'node:process';

type Body = () => Promise<void> | void;

const tests: { name: string; body: Body }[] = [];
const before: Body[] = [];
const after: Body[] = [];

export function it(name: string, body: Body): void {
  tests.push({ name, body });
}

/** `$key` in the name stands for that property of the row. */
it.each =
  <Row extends object>(rows: readonly Row[]) =>
  (name: string, body: (row: Row) => Promise<void> | void): void => {
    for (const row of rows) {
      const filled = name.replace(/\$(\w+)/g, (_, key: string) =>
        String((row as Record<string, unknown>)[key]),
      );
      it(filled, () => body(row));
    }
  };

export const beforeAll = (body: Body) => before.push(body);
export const afterAll = (body: Body) => after.push(body);
/** Test support hooks into these; here there is nothing to hook into. */
export const afterEach = (_body: unknown): void => undefined;
export const expect = {
  fail(message: string): never {
    throw new Error(message);
  },
};

async function run(): Promise<void> {
  const parts = process.argv.slice(2);
  for (const body of before) await body();
  for (const { name, body } of tests) {
    if (parts.length > 0 && !parts.some((part) => name.includes(part))) continue;
    await body();
  }
  for (const body of after) await body();
}

// Once the benchmark has registered everything.
setTimeout(() => {
  run().catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  });
}, 0);
