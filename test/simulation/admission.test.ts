/**
 * What a request that is admitted may count on: the pages of its whole prompt, beside those that requests admitted
 * before it still have to get for theirs.
 */
import { describe, expect, it } from 'vitest';
import { makeWorld, prompt, type World } from '../support/worlds.ts';

const LAG = 2;

/** Pages of 4 tokens; the pool has one page more, the null page. */
const worldOf = (usablePages: number, schedule: { maxTokensPerStep?: number } = {}): Promise<World> =>
  makeWorld({
    cache: { pages: usablePages + 1, pageBytes: 32, tokensPerPage: 4 },
    schedule,
    offload: { slots: 32 },
    transfer: { acknowledgementLag: LAG },
  });

/** Brings the pages of these prompts to the host tier and takes them off the device. */
async function putOnHost(
  { engine }: World,
  usablePages: number,
  prompts: readonly number[][],
): Promise<void> {
  for (const [index, tokens] of prompts.entries()) {
    engine.add({ id: `seed ${index}`, tokens });
    await engine.drain();
  }
  engine.add({ id: 'pushes them out', tokens: prompt(90_000, 4 * usablePages) });
  await engine.drain();
}

/** The requests of each step's forward pass, until all have ended. */
async function forwardUntilIdle({ engine }: World): Promise<string[][]> {
  const steps: string[][] = [];
  while (engine.requestCount > 0) {
    const { plan } = await engine.step();
    steps.push(plan.forward.map(({ requestId }) => requestId));
    engine.checkIntegrity();
  }
  return steps;
}

const firstStep = (steps: readonly string[][], id: string): number =>
  steps.findIndex((ids) => ids.includes(id));

describe('a new request', () => {
  it('waits while its first chunk would fit but its prompt does not', async () => {
    const world = await worldOf(8, { maxTokensPerStep: 8 });
    const { engine } = world;
    engine.add({ id: 'runs', tokens: prompt(0, 7), maxOutputTokens: 6 });
    await engine.step();
    // Two of its seven pages would be found at once, all seven only when the other one has ended.
    engine.add({ id: 'long', tokens: prompt(100, 28) });
    const steps = await forwardUntilIdle(world);
    expect(steps.slice(0, 5)).toEqual(Array(5).fill(['runs']));
    expect(steps[5]).toEqual(['long']);
    expect(engine.statistics().requests.preemptions).toBe(0);
  });

  it('does not take the pages that a loading one still needs for its prompt', async () => {
    const world = await worldOf(10);
    const { engine } = world;
    const stored = prompt(0, 8);
    await putOnHost(world, 10, [stored]);
    // Two pages come from the host, five more are to be computed; the second one needs six.
    engine.add({ id: 'loads', tokens: [...stored, ...prompt(500, 20)] });
    engine.add({ id: 'new', tokens: prompt(1000, 24), maxOutputTokens: 1 });
    const steps = await forwardUntilIdle(world);
    expect(firstStep(steps, 'loads')).toBe(LAG + 1);
    expect(firstStep(steps, 'new')).toBeGreaterThan(firstStep(steps, 'loads'));
    expect(engine.statistics().requests.preemptions).toBe(0);
  });

  it('that fits beside a loading one is admitted at once', async () => {
    const world = await worldOf(10);
    const stored = prompt(0, 8);
    await putOnHost(world, 10, [stored]);
    world.engine.add({ id: 'loads', tokens: [...stored, ...prompt(500, 20)] });
    world.engine.add({ id: 'new', tokens: prompt(1000, 12) });
    const steps = await forwardUntilIdle(world);
    expect(firstStep(steps, 'new')).toBe(0);
  });
});

describe('a request with pages on the host', () => {
  it('does not load into pages that another loading one still needs for its prompt', async () => {
    const world = await worldOf(10);
    const { engine } = world;
    const [first, second] = [prompt(0, 8), prompt(200, 16)];
    await putOnHost(world, 10, [first, second]);
    engine.add({ id: 'first', tokens: [...first, ...prompt(500, 20)] });
    // Its four pages are free, but then the other one could not go on.
    engine.add({ id: 'second', tokens: [...second, 7] });
    const { plan } = await engine.step();
    expect(plan.loads.map(({ pages }) => pages.length)).toEqual([2]);
    const steps = await forwardUntilIdle(world);
    expect(firstStep(steps, 'first')).toBeLessThan(firstStep(steps, 'second'));
    expect(engine.statistics().requests.preemptions).toBe(0);
  });

  it('does not load while the rest of its own prompt finds no place', async () => {
    const world = await worldOf(10);
    const { engine } = world;
    const stored = prompt(0, 8);
    await putOnHost(world, 10, [stored]);
    engine.add({ id: 'runs', tokens: prompt(700, 15), maxOutputTokens: 6 });
    await engine.step();
    // Two pages are free for what the host has, but not seven for the prompt.
    engine.add({ id: 'loads', tokens: [...stored, ...prompt(500, 20)] });
    for (let step = 0; step < 4; step += 1) expect((await engine.step()).plan.loads).toEqual([]);
    const steps = await forwardUntilIdle(world);
    expect(firstStep(steps, 'loads')).toBeGreaterThan(0);
    expect(engine.statistics().requests.preemptions).toBe(0);
  });
});
