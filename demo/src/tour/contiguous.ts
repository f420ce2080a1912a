/**
 * Memory without pages: each request reserves one run of places, as long as its text may become, and keeps it to its end.
 * First come, first served; the first gap that is long enough is taken.
 */
export interface ContiguousRequest {
  readonly id: number;
  /** Tokens of the prompt, all computed in the first step, and of the answer, one a step. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Places that it reserves. */
  readonly reserved: number;
}

interface Run {
  readonly request: ContiguousRequest;
  readonly from: number;
  used: number;
}

export class ContiguousMemory {
  readonly places: number;
  private readonly runs: Run[] = [];
  private readonly queue: ContiguousRequest[] = [];

  constructor(places: number) {
    this.places = places;
  }

  add(request: ContiguousRequest): void {
    if (request.reserved > this.places) {
      throw new RangeError(
        `request ${request.id} reserves ${request.reserved} of ${this.places} places; reserve fewer`,
      );
    }
    this.queue.push(request);
  }

  /** Admits who fits, then computes one step of everybody. Who is done gives its places back at the end. */
  step(): void {
    while (this.queue.length > 0) {
      const [request] = this.queue;
      const from = this.gapFor(request.reserved);
      if (from === null) break;
      this.queue.shift();
      this.runs.push({ request, from, used: 0 });
    }
    for (const run of this.runs) run.used += run.used === 0 ? run.request.promptTokens : 1;
    for (const run of [...this.runs]) {
      // The last token of an answer is sampled, and its keys and values are nobody's business.
      if (run.used < run.request.promptTokens + run.request.outputTokens - 1) continue;
      this.runs.splice(this.runs.indexOf(run), 1);
    }
  }

  get waiting(): readonly number[] {
    return this.queue.map(({ id }) => id);
  }

  /** Who runs, by id. */
  get running(): string {
    return this.runs.map(({ request }) => request.id).join(' ');
  }

  get isIdle(): boolean {
    return this.runs.length === 0 && this.queue.length === 0;
  }

  /** Places reserved, and those of them that hold a token. */
  get reserved(): number {
    return this.runs.reduce((sum, { request }) => sum + request.reserved, 0);
  }

  get used(): number {
    return this.runs.reduce((sum, run) => sum + run.used, 0);
  }

  /** Places of the longest gap. */
  get longestGap(): number {
    return Math.max(0, ...this.gaps().map(({ length }) => length));
  }

  /** Place by place: whose it is, and whether a token is in it. */
  get map(): { readonly owner: number | null; readonly isUsed: boolean }[] {
    const map = Array.from({ length: this.places }, () => ({ owner: null as number | null, isUsed: false }));
    for (const { request, from, used } of this.runs) {
      for (let i = 0; i < request.reserved; i += 1) map[from + i] = { owner: request.id, isUsed: i < used };
    }
    return map;
  }

  private gapFor(length: number): number | null {
    return this.gaps().find((gap) => gap.length >= length)?.from ?? null;
  }

  private gaps(): { from: number; length: number }[] {
    const gaps: { from: number; length: number }[] = [];
    let from = 0;
    for (const run of [...this.runs].sort((a, b) => a.from - b.from)) {
      if (run.from > from) gaps.push({ from, length: run.from - from });
      from = run.from + run.request.reserved;
    }
    if (from < this.places) gaps.push({ from, length: this.places - from });
    return gaps;
  }
}
