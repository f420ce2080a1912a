/** Where a scene plays: a real engine on the simulated worker, a cast of requests, and a camera that takes moments. */
import {
  createEngine,
  inspect,
  slotId,
  TransferLog,
  type Engine,
  type EngineConfigInput,
  type EngineView,
  type PageView,
  type RequestId,
  type SimulatedWorker,
  type StepReport,
} from '../../../src/index.ts';
import { Contents } from './contents.ts';
import { cacheLine, deedsOf, offloadLine } from './lines.ts';
import type { Content, Figure, Line, Moment, PagePicture, SlotPicture } from './moment.ts';

const WORD_BYTES = 4;
/** Stands where a text goes on and nobody said how. */
const ANY_WORD = '…';

export interface Told {
  readonly title?: string;
  readonly figures?: readonly Figure[];
  readonly pages?: readonly number[];
  readonly slots?: readonly number[];
}

export class Stage {
  readonly engine: Engine<SimulatedWorker>;
  readonly transfers: TransferLog;
  last: StepReport | null = null;
  private readonly words = new Map<string, number>();
  private readonly tokens: string[] = [];
  private readonly names: string[] = [];
  private readonly outputs: (readonly string[])[] = [];
  private readonly contents: Contents;
  /** What each page held before the last step and after it, by rank. */
  private before: Uint8Array[][] = [];
  private after: Uint8Array[][] = [];
  /** What each slot must hold once its store is complete, by rank: the used words. */
  private readonly expected = new Map<number, Uint8Array[]>();
  private lines: Line[] = [];

  private constructor(engine: Engine<SimulatedWorker>) {
    this.engine = engine;
    this.transfers = new TransferLog(engine.config);
    this.contents = new Contents(engine.cache.layout, (token) => this.tokens[token - 1] ?? ANY_WORD);
  }

  static async open(config: EngineConfigInput): Promise<Stage> {
    const engine: Engine<SimulatedWorker> = await createEngine(config, {
      nextToken: ({ id, sequence, begunTokens }) => stage.nextToken(id, sequence.length - begunTokens),
      onCacheEvent: (event) => stage.tell(cacheLine(event, stage.nameOf)),
      onOffloadEvent: (event) => stage.tell(offloadLine(event, stage.nameOf)),
    });
    const stage: Stage = new Stage(engine);
    await stage.readPages();
    return stage;
  }

  /** A request whose prompt is `text`, one token a word, and that goes on with the words of `output`. */
  add(name: string, text: string, output = ANY_WORD): void {
    const id = String(this.names.length);
    this.names.push(name);
    this.outputs.push(output.split(' '));
    const tokens = text.split(' ').map((word) => this.tokenOf(word));
    this.engine.add({ id, tokens, maxOutputTokens: this.outputs[Number(id)].length });
    this.tell({ text: `${name} arrives: ${tokens.length} tokens`, pages: [] });
  }

  async step(): Promise<StepReport> {
    const report = await this.engine.step();
    this.transfers.record(report);
    this.contents.record(report);
    this.last = report;
    this.before = this.after;
    await this.readPages();
    for (const { pages, slots, isLast } of report.plan.stores) {
      const source = isLast ? this.before : this.after;
      pages.forEach((page, i) => this.expected.set(slots[i], this.rowsOf(source, page)));
    }
    return report;
  }

  /** A moment as everything stands now. */
  async moment(caption: string, told: Told = {}): Promise<Moment> {
    const { engine, last, transfers, names } = this;
    const view = inspect(engine, { last, transfers });
    const log = this.lines;
    this.lines = [];
    return {
      title: told.title ?? (last === null ? 'At the start' : `Step ${last.plan.step + 1}`),
      caption,
      deeds: last === null ? [] : deedsOf(last, this.nameOf, engine.config.cache.zeroing),
      log,
      cache: {
        view,
        pages: view.pages.map((page) => this.pagePicture(page)),
        slots: view.slots.map(({ id, state }) =>
          this.slotPicture(id, state === 'ready' || state === 'pinned'),
        ),
        groups: engine.cache.layout.groups.map(({ kind }) => kind),
        mismatches: (await engine.readWitness()).mismatches,
      },
      figures: told.figures ?? [],
      marked: { pages: told.pages ?? [], slots: told.slots ?? [] },
      names: [...names],
    };
  }

  get view(): EngineView {
    return inspect(this.engine, { last: this.last, transfers: this.transfers });
  }

  readonly nameOf = (request: string): string => this.names[Number(request)] ?? request;

  /** The page table of somebody by name, in one group. */
  table(name: string, group = 0): readonly number[] {
    const id = String(this.names.lastIndexOf(name)) as RequestId;
    return this.view.requests.find((request) => request.id === id)?.tables[group] ?? [];
  }

  contentOf(page: number): Content | null {
    return this.contents.pages.get(page) ?? null;
  }

  /** 32-bit words of a page that belong to its group, by rank. */
  pageWords(page: number): number[][] {
    return this.rowsOf(this.after, page).map(wordsOf);
  }

  slotWords(slot: number): { now: number[][]; expected: number[][] } {
    const expected = this.expected.get(slot) ?? [];
    const now = this.engine.ranks.map(({ host }, rank) =>
      wordsOf(host!.view(slotId(slot)).slice(0, expected[rank]?.length)),
    );
    return { now, expected: expected.map(wordsOf) };
  }

  close(): Promise<void> {
    return this.engine.close();
  }

  private tell(line: Line | null): void {
    if (line) this.lines.push(line);
  }

  private tokenOf(word: string): number {
    const known = this.words.get(word);
    if (known !== undefined) return known;
    this.tokens.push(word);
    this.words.set(word, this.tokens.length);
    return this.tokens.length;
  }

  private nextToken(request: string, position: number): number {
    return this.tokenOf(this.outputs[Number(request)][position] ?? ANY_WORD);
  }

  private async readPages(): Promise<void> {
    const ids = this.view.pages.map(({ id }) => id);
    this.after = await Promise.all(
      this.engine.ranks.map(({ worker }) => Promise.all(ids.map((id) => worker.readPage(id)))),
    );
  }

  private usedBytes(page: number): number {
    const { groups, strideBytes } = this.engine.cache.layout;
    const content = this.contents.pages.get(page);
    return content ? groups[content.group].pageBytes : strideBytes;
  }

  private rowsOf(ranks: readonly Uint8Array[][], page: number): Uint8Array[] {
    return ranks.map((pages) => pages[page].slice(0, this.usedBytes(page)));
  }

  private pagePicture({ id }: PageView): PagePicture {
    return {
      content: this.contents.pages.get(id) ?? null,
      words: wordsOf(this.after[0][id]),
      used: this.usedBytes(id) / WORD_BYTES,
    };
  }

  private slotPicture(slot: number, isReady: boolean): SlotPicture {
    if (!isReady) return { content: this.contents.slots.get(slot) ?? null, words: [], wrongWords: 0 };
    const { now, expected } = this.slotWords(slot);
    const wrongWords = now
      .flatMap((words, rank) => words.map((word, i) => word !== expected[rank][i]))
      .filter(Boolean).length;
    return { content: this.contents.slots.get(slot) ?? null, words: now[0], wrongWords };
  }
}

function wordsOf(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / WORD_BYTES }, (_, i) => view.getUint32(i * WORD_BYTES, true));
}
