/** How far a run is: a bar on a terminal, now and then a line elsewhere, nothing where it is not wanted. */
import type { SingleBar } from 'cli-progress';
import { formatCount, formatRate, formatSeconds, formatShare } from './format.ts';
import type { CliIo } from './io.ts';

export interface Progress {
  /** `done` of the total; cheap enough for every step. */
  update(done: number): void;
  /** Takes the bar away. Twice is harmless. */
  stop(): void;
}

export interface ProgressOptions {
  readonly stream: CliIo['stderr'];
  /** Of the whole run. */
  readonly total: number;
  /** What is counted. Default: requests. */
  readonly unit?: string;
  /** Milliseconds, from any origin. Default: `performance.now`. */
  readonly now?: () => number;
}

const LINE_EVERY_MS = 5000;
const BAR_EVERY_MS = 100;

export const NO_PROGRESS: Progress = { update: () => undefined, stop: () => undefined };

export async function createProgress(options: ProgressOptions): Promise<Progress> {
  if (options.stream.isTTY !== true) return new ProgressLines(options);
  // Imported only where there is a terminal to draw on.
  const { default: cliProgress } = await import('cli-progress');
  const bar = new cliProgress.SingleBar({
    stream: options.stream,
    format: '[{bar}] {text}',
    barsize: 24,
    barCompleteChar: '#',
    barIncompleteChar: '.',
    clearOnComplete: true,
    hideCursor: true,
    // Interrupts are the command's to handle.
    gracefulExit: false,
  });
  return new ProgressBar(bar, options);
}

/** `1,200 of 12,031 requests (10.0 %), 240/s, 45.1 s left` */
export function progressText(done: number, total: number, seconds: number, unit = 'requests'): string {
  const left = done === 0 ? '-' : formatSeconds(((total - done) * seconds) / done);
  return (
    `${formatCount(done)} of ${formatCount(total)} ${unit} (${formatShare(done, total)}), ` +
    `${formatRate(done, seconds)}, ${left} left`
  );
}

/** Times the updates, so that a drawing costs nothing between two of its moments. */
abstract class PacedProgress implements Progress {
  protected readonly total: number;
  private readonly unit: string | undefined;
  private readonly now: () => number;
  private readonly begin: number;
  private readonly everyMs: number;
  private next: number;

  constructor({ total, unit, now = () => performance.now() }: ProgressOptions, everyMs: number) {
    this.total = total;
    this.unit = unit;
    this.everyMs = everyMs;
    this.now = now;
    this.begin = now();
    this.next = this.begin + everyMs;
  }

  update(done: number): void {
    const now = this.now();
    if (now < this.next) return;
    this.next = now + this.everyMs;
    this.draw(done, progressText(done, this.total, (now - this.begin) / 1000, this.unit));
  }

  abstract stop(): void;
  protected abstract draw(done: number, text: string): void;
}

class ProgressLines extends PacedProgress {
  private readonly stream: CliIo['stderr'];

  constructor(options: ProgressOptions) {
    super(options, LINE_EVERY_MS);
    this.stream = options.stream;
  }

  stop(): void {
    // What is written stays.
  }

  protected draw(_done: number, text: string): void {
    this.stream.write(`${text}\n`);
  }
}

class ProgressBar extends PacedProgress {
  private readonly bar: SingleBar;

  constructor(bar: SingleBar, options: ProgressOptions) {
    super(options, BAR_EVERY_MS);
    this.bar = bar;
    bar.start(options.total, 0, { text: progressText(0, options.total, 0, options.unit) });
  }

  stop(): void {
    this.bar.stop();
  }

  protected draw(done: number, text: string): void {
    this.bar.update(done, { text });
  }
}
