/** The most memory that the process was seen to hold. */
import process from 'node:process';

/** Asking the system costs more than a step of a small trace. */
const EVERY_MS = 50;

export class ResidentMemory {
  private most = 0;
  private next = 0;

  constructor() {
    this.sample();
  }

  /** Looks, unless it has just looked. */
  sample(): void {
    const now = performance.now();
    if (now < this.next) return;
    this.next = now + EVERY_MS;
    this.look();
  }

  /** Bytes, over all looks and now. */
  max(): number {
    this.look();
    return this.most;
  }

  private look(): void {
    this.most = Math.max(this.most, process.memoryUsage().rss);
  }
}
