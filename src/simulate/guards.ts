/** placeholder */
import type { Engine } from '../engine.ts';
import type { Worker } from '../schedule/step-plan.ts';
export type GuardName = 'fence';
export const NO_GUARD_OFF: GuardName | null = null;
export function prepareEngine(engine: Engine, _without: GuardName | null): Engine {
  return engine;
}
export function workerOf(worker: Worker, _without: GuardName | null): Worker {
  return worker;
}
