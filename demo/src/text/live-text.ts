/** A model, its cache, and the prompts that are written on: everything but the drawing. */
import {
  Generator,
  inspect,
  loadModel,
  type EngineView,
  type GenerateResult,
  type Model,
} from '../../../src/index.ts';
import { messageOf, openAny } from '../run/open-device.ts';
import { PageContents, type PageContent } from './page-contents.ts';

const MODEL = './models/kjv-tiny';
/** Milliseconds between two drawings. */
const DRAW_MS = 60;

export const PROMPTS = [
  'And the LORD spake unto Moses, saying,',
  'And the LORD spake unto Aaron, saying,',
  'In the beginning',
] as const;

export interface TextSettings {
  readonly tokensPerPage: number;
  readonly poolPages: number;
  readonly hostSlots: number;
  readonly maxTokens: number;
  readonly temperature: number;
}

/** A pool that holds three such texts and little more: the next ones push pages of earlier ones out. */
export const DEFAULTS: TextSettings = {
  tokensPerPage: 4,
  poolPages: 96,
  hostSlots: 192,
  maxTokens: 40,
  temperature: 0,
};

export interface Writing {
  readonly prompt: string;
  /** The request's name in the engine; its colour follows from it. Null before the first run. */
  readonly id: string | null;
  readonly output: string;
  /** `null` while it is written. */
  readonly result: GenerateResult | null;
}

export interface LiveState {
  readonly status: 'opening' | 'ready' | 'writing' | 'failed';
  readonly place: { readonly kind: 'webgpu' | 'cpu'; readonly about: string } | null;
  readonly writings: readonly Writing[];
  readonly settings: TextSettings;
  readonly view: EngineView | null;
  /** By page, what it holds or held last. */
  readonly contents: ReadonlyMap<number, PageContent>;
  readonly happened: string;
  readonly problem: string | null;
}

const BEGIN: LiveState = {
  status: 'opening',
  place: null,
  writings: PROMPTS.map((prompt) => ({ prompt, id: null, output: '', result: null })),
  settings: DEFAULTS,
  view: null,
  contents: new Map(),
  happened: '',
  problem: null,
};

export class LiveText {
  state = BEGIN;
  private readonly listeners = new Set<() => void>();
  private model: Model | null = null;
  private device: GPUDevice | null = null;
  private generator: Generator | null = null;
  private contents: PageContents | null = null;
  private stopping: AbortController | null = null;
  private drawnAt = 0;
  private count = 0;

  /** Calls `listener` after each change. Returns how to undo it. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Loads the model and makes its cache. Never rejects. */
  async open(): Promise<void> {
    await this.attempt(async () => {
      this.model ??= await loadModel(MODEL);
      await this.openPlace();
      await this.makeCache();
      this.change({ status: 'ready', happened: 'The cache is empty.' });
    });
  }

  setPrompt(index: number, prompt: string): void {
    this.change({ writings: this.state.writings.map((one, i) => (i === index ? { ...one, prompt } : one)) });
  }

  /** Sizes make a new, empty cache; what concerns the texts alone holds from the next one on. */
  async apply(settings: TextSettings): Promise<void> {
    const { tokensPerPage, poolPages, hostSlots } = this.state.settings;
    const isSameCache =
      settings.tokensPerPage === tokensPerPage &&
      settings.poolPages === poolPages &&
      settings.hostSlots === hostSlots;
    this.change({ settings, problem: null });
    if (isSameCache && this.generator !== null) return;
    await this.attempt(async () => {
      this.change({ status: 'opening' });
      await this.makeCache();
      this.change({ status: 'ready', happened: 'A new cache: it is empty.' });
    });
  }

  stop(): void {
    this.stopping?.abort();
  }

  /** Writes on all prompts that are not empty, at once. */
  async write(): Promise<void> {
    const { generator } = this;
    if (generator === null || this.state.status !== 'ready') return;
    const { maxTokens, temperature } = this.state.settings;
    const stopping = new AbortController();
    this.stopping = stopping;
    const writings = this.state.writings.map((one): Writing => {
      if (one.prompt.trim() === '') return { ...one, id: null, output: '', result: null };
      const id = String(this.count);
      this.count += 1;
      return { ...one, id, output: '', result: null };
    });
    this.change({ status: 'writing', writings, happened: 'Writing…', problem: null });
    await this.attempt(async () => {
      const wanted = writings.filter(({ id }) => id !== null);
      const results = await generator.generate(
        wanted.map(({ id, prompt }) => ({
          id: id!,
          prompt: prompt.trim(),
          maxTokens,
          temperature,
          seed: this.count,
          signal: stopping.signal,
          onToken: ({ text }) => this.add(id!, text),
        })),
      );
      const byId = new Map(wanted.map(({ id }, i) => [id, results[i]]));
      this.change({
        status: 'ready',
        writings: this.state.writings.map((one) => ({ ...one, result: byId.get(one.id) ?? null })),
        happened: summary(results),
      });
    });
    await this.watchStores(generator);
  }

  /** Stores go on when the texts are there. */
  private async watchStores(generator: Generator): Promise<void> {
    while (this.generator === generator && this.state.status === 'ready' && generator.engine.hasWork) {
      await new Promise((resolve) => setTimeout(resolve, 2 * DRAW_MS));
      this.change({});
    }
  }

  private add(id: string, text: string): void {
    const writings = this.state.writings.map((one) =>
      one.id === id ? { ...one, output: one.output + text } : one,
    );
    if (performance.now() - this.drawnAt < DRAW_MS) this.state = { ...this.state, writings };
    else this.change({ writings });
  }

  private async openPlace(): Promise<void> {
    const place = await openAny(() => ({ label: 'pagefence live text' }));
    if (place.kind === 'simulated') {
      const about = `No WebGPU here, so the same steps run in JavaScript: ${place.reason}`;
      this.change({ place: { kind: 'cpu', about } });
      return;
    }
    const { device, adapter, software } = place;
    this.device = device;
    void device.lost.then(({ message }) => {
      this.generator = null;
      this.change({ status: 'failed', problem: `The device was lost: ${message}. Reload the page.` });
    });
    const about = software ? `${adapter}. This adapter computes on the CPU.` : adapter;
    this.change({ place: { kind: 'webgpu', about } });
  }

  private async makeCache(): Promise<void> {
    const model = this.model!;
    const { tokensPerPage, poolPages, hostSlots } = this.state.settings;
    const old = this.generator;
    this.generator = null;
    await old?.close();
    const device = this.device ?? undefined;
    this.generator = await Generator.create({ model, device, tokensPerPage, poolPages, hostSlots });
    this.contents = new PageContents(this.generator.engine, (ids) => model.tokenizer!.decode(ids));
  }

  private async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.change({ status: this.generator === null ? 'failed' : 'ready', problem: messageOf(error) });
    }
  }

  private change(part: Partial<LiveState>): void {
    const { generator, contents } = this;
    const view = generator ? inspect(generator.engine) : null;
    if (view) contents?.look(view);
    this.state = { ...this.state, ...part, view, contents: new Map(contents?.byPage) };
    this.drawnAt = performance.now();
    for (const listener of this.listeners) listener();
  }
}

function summary(results: readonly GenerateResult[]): string {
  const sum = (pick: (result: GenerateResult) => number) =>
    results.reduce((total, one) => total + pick(one), 0);
  const device = sum(({ hits }) => hits.device);
  const host = sum(({ hits }) => hits.host);
  const computed = sum(({ promptIds }) => promptIds.length) - device - host;
  const found = [
    device > 0 && `${device} were found in pages on the device`,
    host > 0 && `${host} came back from host memory`,
  ].filter((part) => part !== false);
  const rest = found.length > 0 ? `${computed} had to be computed` : `all ${computed} had to be computed`;
  return `Of the prompts' tokens, ${[...found, rest].join(', ')}.`;
}
