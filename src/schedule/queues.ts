/** The three places where an unfinished request can be, and the order in each. */
import type { ScheduleConfig } from '../config.ts';
import type { RequestId } from '../units.ts';
import type { Request } from './request.ts';

type SchedulePolicy = ScheduleConfig['policy'];

/** Whether a request has its turn before another one. First come, first served leaves the order as it is. */
export function isBefore(a: Request, b: Request, policy: SchedulePolicy): boolean {
  if (policy === 'fcfs') return false;
  return a.priority !== b.priority ? a.priority < b.priority : a.arrival < b.arrival;
}

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

  /** Behind those that come before it. */
  enqueue(request: Request, policy: SchedulePolicy): void {
    const { waiting } = this;
    let at = waiting.length;
    while (at > 0 && isBefore(request, waiting[at - 1], policy)) at -= 1;
    waiting.splice(at, 0, request);
  }

  /** For a request that had its turn already: before all others, but for more urgent ones. */
  enqueueAgain(request: Request, policy: SchedulePolicy): void {
    if (policy === 'fcfs') this.waiting.unshift(request);
    else this.enqueue(request, policy);
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
