import { invariant } from '../errors.ts';
import type { JobId, PageId } from '../units.ts';

/**
 * Which pending stores still have to read a page that its owner no longer protects. Whoever writes such a page asks
 * here first and has the named stores released before the write.
 *
 * Store jobs only: the destinations of a load stay with their request until the load ends.
 */
export class Fence {
  readonly #readers = new Map<PageId, Set<JobId>>();

  /** Pages with at least one reader. */
  get size(): number {
    return this.#readers.size;
  }

  /** Pages may repeat: groups can share page ids. */
  register(pages: Iterable<PageId>, job: JobId): void {
    for (const page of pages) {
      const readers = this.#readers.get(page);
      if (readers === undefined) this.#readers.set(page, new Set([job]));
      else readers.add(job);
    }
  }

  remove(pages: Iterable<PageId>, job: JobId): void {
    for (const page of pages) {
      const readers = this.#readers.get(page);
      readers?.delete(job);
      if (readers?.size === 0) this.#readers.delete(page);
    }
  }

  /** Pending stores that read at least one of the pages. */
  jobsReading(pages: Iterable<PageId>): Set<JobId> {
    const jobs = new Set<JobId>();
    if (this.#readers.size === 0) return jobs;
    for (const page of pages) {
      for (const job of this.#readers.get(page) ?? []) jobs.add(job);
    }
    return jobs;
  }

  has(page: PageId, job: JobId): boolean {
    return this.#readers.get(page)?.has(job) ?? false;
  }

  *[Symbol.iterator](): IterableIterator<[PageId, ReadonlySet<JobId>]> {
    yield* this.#readers;
  }

  clear(): void {
    this.#readers.clear();
  }

  /** Throws `InvariantError` on an empty set or on a reader that is not a pending store. */
  checkIntegrity(isPendingStore: (job: JobId) => boolean): void {
    for (const [page, readers] of this.#readers) {
      invariant(readers.size > 0, `fence: page ${page} has an empty set of readers`);
      for (const job of readers) {
        invariant(isPendingStore(job), `fence: page ${page} names job ${job}, which is no pending store`);
      }
    }
  }
}
