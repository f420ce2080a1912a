/** A model in memory: what it computes, its weights, and how it reads text. */
import type { ModelConfig } from './config.ts';
import type { DrafterWeights } from './drafter.ts';
import type { TextTokenizer } from './tokenizer.ts';
import type { ModelWeights } from './weights.ts';

export interface Model {
  /** For messages and reports. */
  readonly name: string;
  readonly config: ModelConfig;
  readonly weights: ModelWeights;
  /** `null` where the model has none. */
  readonly drafter: DrafterWeights | null;
  /** `null` where the model came without `tokenizer.json`. */
  readonly tokenizer: TextTokenizer | null;
}
