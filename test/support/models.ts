/** The models of ../shared/data, for tests in any runtime. */
import { inject, type TestContext } from 'vitest';
import { loadModel } from '../../src/model/load.ts';
import type { Model } from '../../src/model/model.ts';
import { detectRuntime } from '../../src/runtime/detect.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where `kjv-tiny` and `stories260k` are. `null` where they are not. */
    modelsFolder: string | null;
  }
}

export type ModelName = 'kjv-tiny' | 'stories260k';

export interface Golden {
  readonly prompt: readonly number[];
  /** Greedy continuation by a float64 reference. */
  readonly greedy: readonly number[];
}

export interface SharedModel {
  readonly model: Model;
  readonly goldens: readonly Golden[];
  /** The raw `golden.json`. */
  readonly file: unknown;
}

const loaded = new Map<ModelName, Promise<SharedModel>>();

/** The folder of a model, as a path or, in a browser, as an address. Skips the test where there is none. */
export function modelSource(name: ModelName, context: Pick<TestContext, 'skip'>): string {
  const folder = inject('modelsFolder');
  if (folder === null) return context.skip('../shared/data/models is not here');
  // Vite serves absolute paths below this prefix.
  return detectRuntime() === 'browser' ? `/@fs${folder}/${name}` : `${folder}/${name}`;
}

/** A model with its goldens. Loaded once a file. */
export async function sharedModel(name: ModelName, context: Pick<TestContext, 'skip'>): Promise<SharedModel> {
  const source = modelSource(name, context);
  const known = loaded.get(name) ?? load(source);
  loaded.set(name, known);
  return known;
}

interface GoldenCase {
  readonly prompt_ids: number[];
  readonly greedy_ids: number[];
}

async function load(source: string): Promise<SharedModel> {
  const text = await readText(`${source}/golden.json`);
  const file = JSON.parse(text) as GoldenCase & { cases?: GoldenCase[] };
  const goldens = (file.cases ?? [file]).map(({ prompt_ids, greedy_ids }) => ({
    prompt: prompt_ids,
    greedy: greedy_ids,
  }));
  return { model: await loadModel(source), goldens, file };
}

async function readText(path: string): Promise<string> {
  if (detectRuntime() === 'browser') return (await fetch(path)).text();
  const { readFile } = await import('node:fs/promises');
  return readFile(path, 'utf8');
}
