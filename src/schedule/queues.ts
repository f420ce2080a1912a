/** The three places where an unfinished request can be, and the order in each. */
import type { RequestId } from '../units.ts';
import type { Request } from './request.ts';

export class RequestQueues {
  /** Not started, or preempted; first come, first served. Preempted requests go to the front. */
  readonly waiting: Request[] = [];
  /** Their load is in flight. They hold pages and cannot be preempted. */
  readonly parked = new Map<RequestId, Request>();
  /** Their load has ended. They hold pages and run as soon as the rest of their prompt fits. */
  readonly loaded: Request[] = [];
  /** In the order in which they started. The last one is the first to be preempted. */
  readonly running: Request[] = [];

  get size(): number {
    return this.waiting.length + this.parked.size + this.loaded.length + this.running.length;
  }

  *all(): Generator<Request> {
    yield* this.running;
    yield* this.loaded;
    yield* this.parked.values();
    yield* this.waiting;
  }

  /** Takes a request out of wherever it is. */
  remove(request: Request): void {
    this.parked.delete(request.id);
    for (const list of [this.waiting, this.loaded, this.running]) {
      const at = list.indexOf(request);
      if (at >= 0) list.splice(at, 1);
    }
  }
}
