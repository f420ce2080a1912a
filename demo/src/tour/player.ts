/** Which chapter is open, what is chosen in it, and which of its moments is shown. */
import { messageOf } from '../run/open-device.ts';
import type { Moment } from './moment.ts';
import { completeChoice, playScene, type Chosen, type Scene } from './scene.ts';

/** Milliseconds that a moment is shown while the scene plays. */
export const PACES = [
  { label: 'slow', milliseconds: 5000 },
  { label: 'steady', milliseconds: 2500 },
  { label: 'fast', milliseconds: 400 },
] as const;

export interface TourState {
  readonly status: 'preparing' | 'ready' | 'playing' | 'failed';
  readonly scene: Scene;
  readonly chosen: Chosen;
  /** Empty while they are prepared for the first time. */
  readonly moments: readonly Moment[];
  readonly at: number;
  /** Index in `PACES`. */
  readonly pace: number;
  readonly problem: string | null;
}

export class TourPlayer {
  readonly scenes: readonly Scene[];
  state: TourState;
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts what was asked for: a scene that was overtaken by a later one is dropped. */
  private asked = 0;

  constructor(scenes: readonly Scene[]) {
    this.scenes = scenes;
    const [scene] = scenes;
    this.state = {
      status: 'preparing',
      scene,
      chosen: completeChoice(scene, {}),
      moments: [],
      at: 0,
      pace: 1,
      problem: null,
    };
  }

  /** Calls `listener` after each change. Returns how to undo it. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Opens what the fragment of an address names: `chapter/moment/name=value`, each part but the first optional. What it
   * names and there is not is passed over.
   */
  async openAddress(fragment: string): Promise<void> {
    const [id, moment, ...given] = fragment.replace(/^#/, '').split('/');
    const scene = this.scenes.find((candidate) => candidate.id === id);
    if (scene === undefined) return this.open(this.scenes[0], {}, 0);
    const chosen: Record<string, string> = {};
    for (const { name, options } of scene.choices) {
      const value = given.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
      if (options.some((option) => option.value === value)) chosen[name] = value!;
    }
    await this.open(scene, chosen, Number(moment) - 1);
  }

  /** The address of what is shown, for `openAddress`. */
  get address(): string {
    const { scene, chosen, at } = this.state;
    return [scene.id, at + 1, ...scene.choices.map(({ name }) => `${name}=${chosen[name]}`)].join('/');
  }

  /** Plays the scene again with another choice, up to the moment that is shown. */
  async choose(name: string, value: string): Promise<void> {
    const { scene, chosen, at } = this.state;
    await this.open(scene, { ...chosen, [name]: value }, at);
  }

  openScene(scene: Scene): Promise<void> {
    return this.open(scene, {}, 0);
  }

  show(at: number): void {
    this.pause();
    this.change({ at: this.within(at) });
  }

  play(): void {
    const { status, at, moments } = this.state;
    if (status !== 'ready') return;
    this.change({ status: 'playing', at: at === moments.length - 1 ? 0 : at });
    this.wait();
  }

  pause(): void {
    clearTimeout(this.timer);
    if (this.state.status === 'playing') this.change({ status: 'ready' });
  }

  setPace(pace: number): void {
    this.change({ pace });
    if (this.state.status === 'playing') this.wait();
  }

  private async open(scene: Scene, given: Chosen, at: number): Promise<void> {
    this.pause();
    this.asked += 1;
    const { asked } = this;
    const chosen = completeChoice(scene, given);
    const isOther = scene !== this.state.scene;
    // The same chapter stays in view until it has been played anew.
    this.change({
      status: 'preparing',
      scene,
      chosen,
      problem: null,
      ...(isOther && { moments: [], at: 0 }),
    });
    try {
      const moments = await playScene(scene, chosen);
      if (asked !== this.asked) return;
      this.change({ status: 'ready', moments });
      this.change({ at: this.within(at) });
    } catch (error) {
      if (asked === this.asked) this.change({ status: 'failed', problem: messageOf(error) });
    }
  }

  private within(at: number): number {
    const last = Math.max(0, this.state.moments.length - 1);
    return Number.isInteger(at) ? Math.min(Math.max(at, 0), last) : 0;
  }

  private wait(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const { at, moments } = this.state;
      const isOver = at + 1 >= moments.length - 1;
      this.change({ at: this.within(at + 1), ...(isOver && { status: 'ready' }) });
      if (!isOver) this.wait();
    }, PACES[this.state.pace].milliseconds);
  }

  private change(part: Partial<TourState>): void {
    this.state = { ...this.state, ...part };
    for (const listener of this.listeners) listener();
  }
}
