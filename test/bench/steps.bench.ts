/** The control plane by itself: schedule, metadata and update of a step over a worker that does nothing. No GPU. */
import { it } from 'vitest';
import { engineConfigSchema } from '../../src/config.ts';
import type { GroupConfigInput } from '../../src/config/groups.ts';
import { cachePreset } from '../../src/config/presets.ts';
import { Engine } from '../../src/engine.ts';
import type {
  Acknowledgement,
  StepOutcome,
  StepPlan,
  Worker,
  WitnessReport,
} from '../../src/schedule/step-plan.ts';

const RUNNING = 256;
const PROMPT = 48;
const ROUNDS = 301;

/** Says that everything has arrived, one step later. */
class IdleWorker implements Worker {
  readonly kind = 'simulated';
  private due: Acknowledgement[] = [];

  get busy(): boolean {
    return this.due.length > 0;
  }

  execute(plan: StepPlan): Promise<StepOutcome> {
    const acknowledgements = this.due;
    this.due = [...plan.stores, ...plan.loads].map(({ id }) => ({ job: id, ok: true }));
    const released = plan.stores.map(({ id }) => id);
    return Promise.resolve({ step: plan.step, released, flushed: [], overflowedPages: 0, acknowledgements });
  }

  readPage(): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(new Uint8Array(0));
  }

  damagePage(): void {
    throw new Error('there are no pages');
  }

  readWitness(): Promise<WitnessReport> {
    return Promise.resolve({ mismatches: 0, checkedWords: 0, pages: [] });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

interface Setup {
  readonly name: string;
  readonly pages: number;
  readonly slots: number;
  readonly groups?: GroupConfigInput[];
}

/** An engine in which `RUNNING` requests decode, one token a step each. */
async function decoding({ pages, slots, groups }: Setup): Promise<Engine> {
  const cache = groups ? { pages, groups } : { pages, tokensPerPage: 16, pageBytes: 64 };
  const config = engineConfigSchema.parse({
    cache,
    schedule: { maxRunning: RUNNING, maxTokensPerStep: RUNNING * PROMPT },
    offload: { slots },
    witness: false,
  });
  const engine = new Engine({ config, worker: new IdleWorker(), host: null });
  for (let i = 0; i < RUNNING; i += 1) {
    const tokens = Uint32Array.from({ length: PROMPT }, (_, token) => i * 1000 + token);
    engine.add({ id: `r${i}`, tokens, maxOutputTokens: 2 * ROUNDS });
  }
  for (let i = 0; i < 40; i += 1) await engine.step();
  return engine;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}

it(`steps: ${RUNNING} running requests, schedule, metadata and update`, async () => {
  const perRequest = Math.ceil((PROMPT + 2 * ROUNDS) / 16);
  const setups: Setup[] = [
    { name: 'one group, 15,000 pages', pages: 15_000, slots: 20_000 },
    { name: 'one group, 100,000 pages', pages: 100_000, slots: 20_000 },
    { name: 'one group, 1,000,000 pages', pages: 1_000_000, slots: 20_000 },
    { name: 'one group, 100,000 pages, no host tier', pages: 100_000, slots: 0 },
    {
      name: 'groups of the preset incident-small on one rank, 100,000 pages',
      pages: 100_000,
      slots: 20_000,
      groups: cachePreset('incident-small').groups.map((group) =>
        group.kind === 'ring' ? group : { ...group, tokensPerPage: 16 },
      ),
    },
  ];
  if (perRequest * RUNNING > 15_000) throw new Error('the smallest pool is too small');
  const engines = await Promise.all(setups.map(decoding));
  const times = setups.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [i, engine] of engines.entries()) {
      const start = performance.now();
      await engine.step();
      times[i].push(performance.now() - start);
    }
  }
  console.log('milliseconds a step, median');
  for (const [i, { name }] of setups.entries())
    console.log(`${median(times[i]).toFixed(3).padStart(8)}  ${name}`);
});
