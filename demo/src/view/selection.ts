/** Which cell is looked at. */
import { useState } from 'preact/hooks';
import type { PickedBy } from './cell-map.tsx';

export interface Selection {
  readonly kind: 'page' | 'slot' | 'job';
  readonly index: number;
  /** Chosen by a press or a key: stays while the pointer moves elsewhere. */
  readonly isPinned: boolean;
  readonly byKey: boolean;
}

export interface Selecting {
  readonly selection: Selection | null;
  /** The phase of the shown step whose pages are ringed. */
  readonly phase: string | null;
  readonly choosePhase: (phase: string | null) => void;
  readonly pick: (kind: Selection['kind'], index: number | null, how: PickedBy) => void;
}

export function useSelection(): Selecting {
  const [selection, setSelection] = useState<Selection | null>(null);
  const [phase, choosePhase] = useState<string | null>(null);
  const pick: Selecting['pick'] = (kind, index, how) =>
    setSelection((before) => {
      if (how === 'hover' && before?.isPinned === true) return before;
      const isSame = before?.isPinned === true && before.kind === kind && before.index === index;
      if (index === null || (how === 'press' && isSame)) return null;
      return { kind, index, isPinned: how !== 'hover', byKey: how === 'key' };
    });
  return { selection, phase, choosePhase, pick };
}
