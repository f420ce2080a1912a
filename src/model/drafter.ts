/**
 * The recurrent drafter that may come with a model, `drafter.*` of the same weights: with e = embedScale x embedding and
 * a = sigmoid(decay), each token moves the state s on to a s + (1 - a) (in e). The state's guess at the next token is the
 * most likely one of norm(out (stateNorm(s) silu(gate e)) + skip e) x embedding transposed.
 */
import { invariant } from '../errors.ts';
import type { ForwardRequest } from '../schedule/step-plan.ts';
import { ceilDiv, NULL_PAGE, type PageId } from '../units.ts';
import type { ModelConfig } from './config.ts';
import type { Safetensors, Tensor } from './safetensors.ts';

export interface DrafterWeights {
  /** [hidden, hidden] each. */
  readonly input: Tensor;
  readonly gate: Tensor;
  readonly output: Tensor;
  readonly skip: Tensor;
  /** [hidden] each. */
  readonly stateNorm: Tensor;
  readonly norm: Tensor;
  readonly decay: Tensor;
}

/** `null` where `config.json` tells of no drafter. Throws `InputError` for tensors that are missing or misshapen. */
export function readDrafter(config: ModelConfig, file: Safetensors): DrafterWeights | null {
  if (config.drafter === null) return null;
  const { hiddenSize } = config;
  const square = (name: string) => file.tensor(`drafter.${name}.weight`, [hiddenSize, hiddenSize]);
  const vector = (name: string) => file.tensor(`drafter.${name}`, [hiddenSize]);
  return {
    input: square('in_proj'),
    gate: square('gate_proj'),
    output: square('out_proj'),
    skip: square('skip_proj'),
    stateNorm: vector('state_norm.weight'),
    norm: vector('norm.weight'),
    decay: vector('decay'),
  };
}

/** What the drafter does for one request: moves its state on over tokens, keeps states in pages, and proposes. */
export interface DraftJob {
  /** Page of the state to start from. The null page: zeros. */
  readonly source: PageId;
  /** Where that state is kept as well, before it moves on: handed off now that it is verified. Or the null page. */
  readonly handOff: PageId;
  readonly tokens: ArrayLike<number>;
  /** Pages of the states after the last tokens, one each. May be empty. */
  readonly targets: readonly PageId[];
  /** Tokens to propose behind `tokens`. */
  readonly proposals: number;
}

/**
 * The drafter's part of a step: states after the last verified token, and after each drafted one behind it, go to the
 * running state's page and to the drafted ones that follow it in the table.
 */
export function draftJobOf(
  { start, end, tables, tokens, drafts = 0 }: ForwardRequest,
  { group, tokensPerPage }: { readonly group: number; readonly tokensPerPage: number },
): DraftJob {
  const table = tables[group];
  const source = start === 0 ? NULL_PAGE : table[ceilDiv(start, tokensPerPage) - 1];
  const running = ceilDiv(end, tokensPerPage) - 1;
  const targets = table.slice(running, running + 1 + drafts);
  invariant(start === 0 || source !== NULL_PAGE, `the drafter has no state after ${start} tokens`);
  invariant(targets.length === 1 + drafts && !targets.includes(NULL_PAGE), 'a drafted state has no page');
  return { source, handOff: NULL_PAGE, tokens: tokens.slice(start, end), targets, proposals: 0 };
}
