/** A chapter of the tour: something that runs, and what to look at while it does. Knows nothing of the page. */
import type { Moment } from './moment.ts';

/** Something that can be set otherwise; the scene then runs again from its beginning. */
export interface Choice {
  readonly name: string;
  readonly label: string;
  /** The first one is chosen to begin with. */
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

export type Chosen = Readonly<Record<string, string>>;

export interface Scene {
  /** Stands in the address. */
  readonly id: string;
  readonly title: string;
  /** What it is about. */
  readonly about: string;
  /** What to look at, and what to try. */
  readonly look: string;
  /** Words of the field that appear here for the first time. */
  readonly words: readonly (readonly [word: string, meaning: string])[];
  readonly choices: readonly Choice[];
  /** Plays from the beginning to the end. The same choices give the same moments. */
  play(chosen: Chosen): AsyncGenerator<Moment, void, undefined>;
}

/** All moments of a scene. Throws `RangeError` for a value that is not on offer. */
export async function playScene(scene: Scene, chosen: Chosen = {}): Promise<Moment[]> {
  const moments: Moment[] = [];
  for await (const moment of scene.play(completeChoice(scene, chosen))) moments.push(moment);
  return moments;
}

/** What is chosen, with the first option where nothing is. */
export function completeChoice(scene: Scene, chosen: Chosen): Chosen {
  return Object.fromEntries(
    scene.choices.map(({ name, options }) => {
      const value = name in chosen ? chosen[name] : options[0].value;
      if (!options.some((option) => option.value === value)) {
        const values = options.map((option) => option.value).join(', ');
        throw new RangeError(`${scene.id}: ${name} is ${value}; use one of ${values}`);
      }
      return [name, value];
    }),
  );
}
