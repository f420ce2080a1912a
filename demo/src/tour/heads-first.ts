/** The wrong order of eviction, to see why the other one is right. */
import { PagePool } from '../../../src/cache/page-pool.ts';
import type { Engine } from '../../../src/index.ts';

/** From here on, what a request of `engine` gives back at its end is evicted from its beginning on. */
export function evictHeadsFirst({ cache }: Engine): void {
  const free = cache.free.bind(cache);
  cache.free = (request) => {
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called with the pool that it belongs to
    const freePages = PagePool.prototype.free;
    // Nothing is awaited meanwhile, so no other pool sees this.
    PagePool.prototype.free = function (pages, owner) {
      freePages.call(this, [...pages].reverse(), owner);
    };
    try {
      free(request);
    } finally {
      PagePool.prototype.free = freePages;
    }
  };
}
