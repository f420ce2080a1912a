/** What happens to lines that cannot be read: the first one ends the run, or all are skipped and counted. */
import { InputError } from '../errors.ts';

const MESSAGES_KEPT = 5;

export class BadLines {
  /** Whether bad lines are skipped; otherwise the first one is thrown. */
  readonly skip: boolean;
  /** Messages of the first few skipped lines. */
  readonly messages: string[] = [];
  private skipped = 0;

  constructor(options: { skip: boolean }) {
    this.skip = options.skip;
  }

  /** Lines, or requests of a document, that were skipped. */
  get count(): number {
    return this.skipped;
  }

  /** Runs `read`; a line that it refuses with an `InputError` is skipped (`null`) or ends the run. */
  guard<Result>(read: () => Result): Result | null {
    try {
      return read();
    } catch (error) {
      if (!this.skip || !(error instanceof InputError)) throw error;
      this.skipped += 1;
      if (this.messages.length < MESSAGES_KEPT) this.messages.push(error.message);
      return null;
    }
  }
}
