/** What a scene shows at one moment, as plain data. A scene is a list of these; drawing adds nothing to them. */
import type { EngineView, GroupKind } from '../../../src/index.ts';

/** What happened, in words, with the pages and jobs that it concerns. */
export interface Line {
  readonly text: string;
  readonly pages: readonly number[];
}

/** What the plans say that a page or a slot holds. */
export interface Content {
  readonly group: number;
  readonly kind: GroupKind;
  /** Words of the tokens, oldest first. Of a recurrent state: those that it sums up. */
  readonly words: readonly string[];
  /** Place of the first of them in the text. */
  readonly from: number;
  /** Tokens that fit. */
  readonly room: number;
}

export interface PagePicture {
  readonly content: Content | null;
  /** Read from the worker: the 32-bit words of the page, rank 0. */
  readonly words: readonly number[];
  /** How many of them belong to the group that holds the page. */
  readonly used: number;
}

export interface SlotPicture {
  readonly content: Content | null;
  /** Read from host memory, rank 0. */
  readonly words: readonly number[];
  /** Words that are not what the page held when its text was computed. 0 unless it is ready. */
  readonly wrongWords: number;
}

export interface CachePicture {
  readonly view: EngineView;
  /** By page id and by slot id. */
  readonly pages: readonly PagePicture[];
  readonly slots: readonly SlotPicture[];
  readonly groups: readonly GroupKind[];
  /** Words that requests have read so far and that were not what they must be. */
  readonly mismatches: number;
}

/** A row of words beside another one, to be compared. */
export interface BytesFigure {
  readonly kind: 'bytes';
  readonly title: string;
  readonly rows: readonly { readonly label: string; readonly words: readonly number[] }[];
  /** Rows show what became of something: a difference is no fault. */
  readonly isChange?: boolean;
}

/** Places of one memory in order, each with whose it is. */
export interface PlacesFigure {
  readonly kind: 'places';
  readonly title: string;
  readonly note: string;
  readonly places: readonly {
    /** Request that it belongs to, `null` for nobody. */
    readonly owner: number | null;
    readonly isUsed: boolean;
    /** Whether a page begins here. */
    readonly isFirst?: boolean;
  }[];
}

/** One bar a row, in parts of `max`. */
export interface BarsFigure {
  readonly kind: 'bars';
  readonly title: string;
  readonly max: number;
  readonly rows: readonly { readonly label: string; readonly value: number; readonly text: string }[];
}

/** A share over time, one line a name. */
export interface CurvesFigure {
  readonly kind: 'curves';
  readonly title: string;
  readonly about: string;
  readonly curves: readonly { readonly name: string; readonly points: readonly number[] }[];
  /** Points of the whole run. */
  readonly length: number;
}

export type Figure = BytesFigure | PlacesFigure | BarsFigure | CurvesFigure;

export interface Moment {
  readonly title: string;
  readonly caption: string;
  /** What the step did, in the order in which it did it. Empty before the first step. */
  readonly deeds: readonly Line[];
  /** What happened since the moment before. */
  readonly log: readonly Line[];
  readonly cache: CachePicture | null;
  readonly figures: readonly Figure[];
  /** Pages and slots to look at. */
  readonly marked: { readonly pages: readonly number[]; readonly slots: readonly number[] };
  /** By request id. */
  readonly names: readonly string[];
}
