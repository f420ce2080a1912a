import type { PrefixKey } from '../units.ts';
import { LinkedList, type Linked } from './linked-list.ts';

interface Sighting extends Linked<Sighting> {
  readonly key: PrefixKey;
  count: number;
}

/**
 * Admits to the host tier only what was looked up often enough: counts lookups a key, for the `trackedMax` keys
 * seen last. Sightings come from lookups alone, and a prefix scan ends at its first miss, so a deep page becomes
 * eligible only after those before it hit.
 */
export class ReuseFilter {
  readonly #threshold: number;
  readonly #trackedMax: number;
  readonly #order = new LinkedList<Sighting>();
  readonly #byKey = new Map<PrefixKey, Sighting>();

  constructor(options: { threshold: number; trackedMax: number }) {
    this.#threshold = options.threshold;
    this.#trackedMax = options.trackedMax;
  }

  /** Tracked keys with their sightings, oldest first. */
  get tracked(): [PrefixKey, number][] {
    return [...this.#order].map((sighting) => [sighting.key, sighting.count]);
  }

  see(key: PrefixKey): void {
    let sighting = this.#byKey.get(key);
    if (sighting === undefined) {
      sighting = { key, count: 0, list: null, older: null, newer: null };
      this.#byKey.set(key, sighting);
    }
    sighting.count += 1;
    this.#order.append(sighting);
    if (this.#order.size > this.#trackedMax) {
      const oldest = this.#order.oldest!;
      this.#order.remove(oldest);
      this.#byKey.delete(oldest.key);
    }
  }

  admits(key: PrefixKey): boolean {
    return (this.#byKey.get(key)?.count ?? 0) >= this.#threshold;
  }
}
