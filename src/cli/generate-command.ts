/** `pagefence generate`: prompts through a model whose memory is the paged cache. */
import { ConfigError } from '../errors.ts';
import { cacheConfigFor } from '../model/cache-layout.ts';
import { Generator, type GenerateRequest, type GenerateResult } from '../model/generator.ts';
import { loadModel } from '../model/load.ts';
import type { Model } from '../model/model.ts';
import { openDeviceFor } from './device.ts';
import { formatCount, formatRate } from './format.ts';
import { writeText, type CliIo } from './io.ts';

export interface GenerateCliOptions {
  readonly model: string;
  readonly promptIds?: readonly (readonly number[])[];
  readonly temperature: number;
  readonly topK?: number;
  readonly topP: number;
  readonly seed: number;
  /** Samples of each prompt. */
  readonly n: number;
  readonly maxTokens: number;
  readonly pageTokens: number;
  readonly poolPages: number;
  readonly hostSlots: number;
  readonly draftTokens: number;
  readonly worker: 'webgpu' | 'simulated';
  readonly json?: boolean;
}

const STATUS_OK = 0;
const STATUS_INTERRUPTED = 130;

/** Generates for all prompts as one batch and prints what came of it. Returns the exit status. */
export async function generateCommand(
  texts: readonly string[],
  options: GenerateCliOptions,
  io: CliIo,
): Promise<number> {
  const prompts: GenerateRequest['prompt'][] = [...texts, ...(options.promptIds ?? [])];
  if (prompts.length === 0) throw new ConfigError('there is no prompt; give a PROMPT, or --prompt-ids');
  const controller = new AbortController();
  const stopListening = io.onInterrupt(() => {
    controller.abort();
  });
  try {
    const model = await loadModel(options.model);
    const opened =
      options.worker === 'webgpu'
        ? await openDeviceFor('pagefence generate', largestBytes(model, options))
        : null;
    try {
      const report = await generate(prompts, {
        model,
        options,
        io,
        device: opened?.device,
        signal: controller.signal,
      });
      if (options.json === true) {
        await writeText(io.stdout, `${JSON.stringify({ ...report, adapter: opened?.adapter ?? null })}\n`);
      }
    } finally {
      opened?.device.destroy();
    }
    return controller.signal.aborted ? STATUS_INTERRUPTED : STATUS_OK;
  } finally {
    stopListening();
  }
}

interface Report {
  readonly model: string;
  readonly results: readonly GenerateResult[];
  readonly totalMs: number;
  readonly tokensPerSecond: number;
  readonly steps: number;
  /** Drafted tokens that were computed, and the share of them that was right; `null` without drafts. */
  readonly drafts: { readonly proposed: number; readonly accepted: number; readonly rate: number | null };
}

async function generate(
  prompts: readonly GenerateRequest['prompt'][],
  run: {
    readonly model: Model;
    readonly options: GenerateCliOptions;
    readonly io: CliIo;
    readonly device: GPUDevice | undefined;
    readonly signal: AbortSignal;
  },
): Promise<Report> {
  const { model, options, io, device, signal } = run;
  const { pageTokens: tokensPerPage, poolPages, hostSlots, draftTokens } = options;
  const { temperature, topK, topP, seed, n, maxTokens, json } = options;
  const generator = await Generator.create({
    ...{ model, device, tokensPerPage, poolPages, hostSlots, draftTokens },
  });
  // One text is shown as it comes; several would run into each other.
  const streams = prompts.length === 1 && n === 1 && json !== true && model.tokenizer !== null;
  try {
    const begun = performance.now();
    const results = await generator.generate(
      prompts.map((prompt) => ({
        ...{ prompt, maxTokens, temperature, topK, topP, seed, n, signal },
        onToken: streams ? ({ text }) => void io.stdout.write(text) : undefined,
      })),
    );
    const totalMs = performance.now() - begun;
    const { proposed, accepted } = generator.engine.statistics().drafts;
    const drafts = { proposed, accepted, rate: proposed === 0 ? null : accepted / proposed };
    const tokens = results.reduce((sum, { ids }) => sum + ids.length, 0);
    if (json !== true) {
      await writeText(io.stdout, streams ? '\n' : results.map((result) => shown(result, n)).join('\n'));
      io.stderr.write(summary(results, tokens, totalMs));
      if (proposed > 0)
        io.stderr.write(`${formatCount(accepted)} of ${formatCount(proposed)} drafted tokens were right\n`);
    }
    return {
      model: model.name,
      results,
      totalMs,
      tokensPerSecond: (tokens / totalMs) * 1000,
      steps: generator.engine.steps,
      drafts,
    };
  } finally {
    await generator.close();
  }
}

function shown({ text, ids, sample }: GenerateResult, n: number): string {
  const label = n > 1 ? `[${sample + 1} of ${n}] ` : '';
  return `${label}${text ?? ids.join(' ')}\n`;
}

function summary(results: readonly GenerateResult[], tokens: number, totalMs: number): string {
  const prompt = results.reduce((sum, { promptIds }) => sum + promptIds.length, 0);
  const hits = results.reduce((sum, { hits: { device, host } }) => sum + device + host, 0);
  return (
    `${formatCount(prompt)} prompt tokens (${formatCount(hits)} from pages), ${formatCount(tokens)} tokens generated, ` +
    `${formatRate(tokens, totalMs / 1000)}\n`
  );
}

/** Bytes of the largest buffer: the pool, or a matrix. */
function largestBytes({ config, weights }: Model, { pageTokens, poolPages }: GenerateCliOptions): number {
  const { groups } = cacheConfigFor(config, { tokensPerPage: pageTokens, pages: poolPages });
  const pool = poolPages * Math.max(...groups.map((group) => group.pageBytes));
  const { embedding, layers } = weights;
  const gateUp = layers.map(({ gate, up }) => gate.bytes.length + up.bytes.length);
  return Math.max(pool, embedding.bytes.length, ...gateUp);
}
