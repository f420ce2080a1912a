/** A moment of a run as the part of an address behind `#`: which trace, which settings, which moment. */
import { z } from 'zod';
import { InputError } from '../../../src/index.ts';
import { SAMPLES, type Sample } from '../run/load-trace.ts';
import { BOUNDS, type RunSettings, type SettingName } from '../run/settings.ts';

export interface LinkedMoment {
  readonly sample: Sample['id'];
  readonly settings: RunSettings;
  readonly moment: number;
  readonly bookmarks: readonly number[];
}

const MOMENT_MAX = 10_000_000;

const number = (min: number, max: number) => {
  const message = `a whole number from ${min} to ${max}`;
  return z
    .string(message)
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
};
const setting = (name: SettingName) => number(BOUNDS[name].min, BOUNDS[name].max);
const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  z.enum(names, `one of ${names.join(', ')}`);

const schema = z.strictObject({
  run: oneOf(SAMPLES.map(({ id }) => id) as [Sample['id'], ...Sample['id'][]]),
  moment: number(0, MOMENT_MAX),
  marks: z
    .string()
    .regex(/^\d{1,8}(\.\d{1,8})*$/, 'whole numbers with dots between them')
    .transform((text) => text.split('.').map(Number))
    .optional(),
  pages: setting('poolPages'),
  slots: setting('hostSlots'),
  policy: oneOf(['lru', 'arc-tier']),
  requests: setting('concurrency'),
  stores: setting('storePagesPerStep'),
  output: oneOf(['1', 'trace']),
  fence: oneOf(['complete', 'off']),
  worker: oneOf(['auto', 'simulated']),
});

/** Begins with `#`. */
export function linkTo({ sample, settings, moment, bookmarks }: LinkedMoment): string {
  const query = new URLSearchParams({
    run: sample,
    moment: String(moment),
    ...(bookmarks.length > 0 ? { marks: bookmarks.join('.') } : {}),
    pages: String(settings.poolPages),
    slots: String(settings.hostSlots),
    policy: settings.policy,
    requests: String(settings.concurrency),
    stores: String(settings.storePagesPerStep),
    output: String(settings.outputTokens),
    fence: settings.fence,
    worker: settings.worker,
  });
  return `#${query.toString()}`;
}

/** Null where the address names no run. Throws `InputError` with the field, its value and what it may be. */
export function readLink(hash: string): LinkedMoment | null {
  const fields = Object.fromEntries(new URLSearchParams(hash.replace(/^#/, '')));
  if (!('run' in fields)) return null;
  const result = schema.safeParse(fields, { reportInput: true });
  if (!result.success) {
    const [issue] = result.error.issues;
    if (issue.code === 'unrecognized_keys') {
      throw new InputError(`link: ${issue.keys.join(', ')}: not known; copy the whole link again`);
    }
    const field = String(issue.path[0]);
    const got = fields[field] === undefined ? 'nothing' : JSON.stringify(fields[field]);
    throw new InputError(`link: ${field}: expected ${issue.message}, got ${got}; copy the whole link again`);
  }
  const { run, moment, marks = [], ...rest } = result.data;
  return {
    sample: run,
    moment,
    bookmarks: marks,
    settings: {
      poolPages: rest.pages,
      hostSlots: rest.slots,
      policy: rest.policy,
      concurrency: rest.requests,
      storePagesPerStep: rest.stores,
      outputTokens: rest.output === 'trace' ? 'trace' : 1,
      fence: rest.fence,
      worker: rest.worker,
    },
  };
}
