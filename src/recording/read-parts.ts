/** Checks a recording that came from outside, field by field. */
import { z } from 'zod';
import type { RunParts } from './run-log.ts';

const whole = z.int('a whole number').min(0, 'a whole number of at least 0');
const integer = z.int('a whole number').min(-1, 'a whole number of at least -1');
const wholes = z.array(whole, 'an array of whole numbers');
const integers = z.array(integer, 'an array of whole numbers');
const name = z.string('a string').min(1, 'a string that is not empty');
const flag = z.boolean('true or false');

const job = { id: whole, pages: wholes, slots: wholes };
const asked = { ...job, request: name.nullable() };
const status = z.enum(
  ['waiting', 'parked', 'loaded', 'running', 'preempted', 'finished'],
  'the status of a request',
);

const step = z.strictObject({
  plan: z.strictObject({
    step: integer,
    stores: z.array(z.strictObject({ ...asked, isLast: z.literal(true).optional() })),
    jobsToFlush: wholes,
    newPageIdsToZero: z.array(z.strictObject({ group: whole, pages: wholes })),
    copies: z.array(z.strictObject({ group: whole, source: whole, destination: whole })),
    loads: z.array(z.strictObject(asked)),
    forward: z.array(z.strictObject({ requestId: name, start: whole, end: whole, computedFrom: whole })),
  }),
  outcome: z.strictObject({
    step: integer,
    released: wholes,
    flushed: wholes,
    overflowedPages: whole,
    acknowledgements: z.array(
      z.strictObject({ job: whole, ok: flag, error: z.string('a string').optional() }),
    ),
  }),
  finished: z.array(
    z.strictObject({
      id: name,
      reason: z.enum(['length', 'stop', 'aborted'], 'the reason of an end'),
      promptTokens: whole,
      outputTokens: whole,
      hitTokens: z.strictObject({ device: whole, host: whole }),
      preemptions: whole,
    }),
  ),
  computed: wholes,
  exposed: wholes,
});

const delta = z.strictObject({
  steps: whole,
  references: wholes.optional(),
  keys: integers.optional(),
  slots: integers.optional(),
  suspectPages: wholes.optional(),
  suspectSlots: wholes.optional(),
  order: z.array(name).optional(),
  requests: z
    .array(
      z.strictObject({
        id: name,
        status: status.optional(),
        promptTokens: whole.optional(),
        tokens: whole.optional(),
        computedTokens: whole.optional(),
        tables: z.array(wholes).optional(),
      }),
    )
    .optional(),
  ended: wholes.optional(),
  begun: z
    .array(z.strictObject({ ...job, kind: z.enum(['store', 'load'], '"store" or "load"'), request: name }))
    .optional(),
  unread: z.array(wholes).optional(),
  staging: z
    .strictObject({
      queuedPages: whole,
      overflowPlaces: whole,
      overflowPages: whole,
      pagesPerBuffer: whole,
      buffers: wholes,
    })
    .optional(),
  counters: z.array(z.number('a number'), 'an array of numbers').optional(),
  step,
});

/** More than any pool or host tier that a page of the demo could draw: a file must not ask for all memory there is. */
const SIZE_MAX = 1_000_000;
const size = whole.max(SIZE_MAX, `a whole number from 0 to ${SIZE_MAX}`);

/** A recording as plain data. What it says is checked as a whole where a `RunLog` is made of it. */
export const runPartsSchema = z.strictObject({
  pages: size,
  slots: size,
  groups: size,
  counters: z.array(name),
  keys: z.array(name),
  first: delta,
  deltas: z.array(delta),
  witness: z.array(
    z.strictObject({
      moment: whole,
      report: z.strictObject({
        mismatches: whole,
        checkedWords: whole,
        pages: z.array(z.strictObject({ page: whole, step: whole })),
      }),
    }),
  ),
}) as unknown as z.ZodType<RunParts>;
