/** One text under way: what was asked for, and what there is of it. */
import type { FinishedRequest } from '../schedule/request.ts';
import { sampleToken, type Sampling } from './sample.ts';
import { TextStream } from './text-stream.ts';
import type { TextTokenizer } from './tokenizer.ts';

export interface GenerateRequest extends Sampling {
  /** The request's name in the engine, unique among those under way. Default: one that is. */
  readonly id?: string;
  /** Text, or token ids. */
  readonly prompt: string | readonly number[];
  /**
   * Samples of the one prompt, which is computed once: forks share its pages. Sample k has the dice of `seed` + k. More
   * than one needs a temperature. Default: 1.
   */
  readonly n?: number;
  /** Tokens to generate at most, in each sample. Default: 64. */
  readonly maxTokens?: number;
  /** Token ids that end the text and are not part of it. Default: the model's own. */
  readonly stop?: readonly number[];
  /** Only requests with the same salt share pages. */
  readonly salt?: string;
  /** What it throws ends the request, and `generate` rejects with it. */
  readonly onToken?: (token: GeneratedToken) => void;
  /** Ends the request with what there is. */
  readonly signal?: AbortSignal;
}

export interface GeneratedToken {
  readonly token: number;
  /** What the token adds to the text. Empty while a character is not complete, and without a tokenizer. */
  readonly text: string;
  /** Which of the request's samples it belongs to. */
  readonly sample: number;
}

export interface GenerateResult {
  readonly promptIds: readonly number[];
  /** Which of the request's samples it is, from 0. */
  readonly sample: number;
  /** The tokens that were generated, without the prompt. */
  readonly ids: readonly number[];
  /** Their text. `null` without a tokenizer. */
  readonly text: string | null;
  readonly finish: 'stop' | 'length' | 'aborted';
  /** Prompt tokens that were not computed, by the tier that supplied them. */
  readonly hits: { readonly device: number; readonly host: number };
  readonly preemptions: number;
  /** Milliseconds from the call to the first token, and to the end. */
  readonly firstTokenMs: number;
  readonly totalMs: number;
}

export interface GenerationOptions {
  readonly request: GenerateRequest;
  readonly promptIds: readonly number[];
  readonly stop: readonly number[];
  readonly sample: number;
  readonly tokenizer: TextTokenizer | null;
  /** By the clock of `performance.now`. */
  readonly begun: number;
}

export class Generation {
  /** With its result, once it is over; rejected if the run fails before. */
  readonly result: Promise<GenerateResult>;
  private resolve!: (result: GenerateResult) => void;
  private rejectResult!: (reason: unknown) => void;
  private readonly options: GenerationOptions;
  private readonly stop: ReadonlySet<number>;
  private readonly ids: number[] = [];
  private readonly stream: TextStream | null;
  private firstTokenMs = 0;
  private stopped = false;

  constructor(options: GenerationOptions) {
    this.options = options;
    this.stop = new Set(options.stop);
    this.stream = options.tokenizer && new TextStream(options.tokenizer);
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.rejectResult = reject;
    });
  }

  /** Chooses the token at `position` from logits and takes it in. `isOver`: it ends the text. */
  choose(logits: Float32Array, position: number): { readonly token: number; readonly isOver: boolean } {
    const { request, sample } = this.options;
    const seed = ((request.seed ?? 0) + sample) % 2 ** 32;
    const token = sampleToken(logits, { ...request, seed }, position);
    if (this.stop.has(token)) {
      this.stopped = true;
      return { token, isOver: true };
    }
    if (this.ids.length === 0) this.firstTokenMs = this.elapsedMs;
    this.ids.push(token);
    // Without a listener nobody needs the pieces, and the whole is decoded once.
    request.onToken?.({ token, text: this.stream?.add(token) ?? '', sample });
    return { token, isOver: false };
  }

  finish({ reason, hitTokens, preemptions }: FinishedRequest): void {
    const { promptIds, tokenizer, sample } = this.options;
    this.resolve({
      promptIds,
      sample,
      ids: this.ids,
      text: tokenizer && tokenizer.decode(this.ids),
      finish: this.stopped ? 'stop' : reason === 'length' ? 'length' : 'aborted',
      hits: hitTokens,
      preemptions,
      firstTokenMs: this.firstTokenMs,
      totalMs: this.elapsedMs,
    });
  }

  reject(reason: unknown): void {
    this.rejectResult(reason);
  }

  private get elapsedMs(): number {
    return performance.now() - this.options.begun;
  }
}
