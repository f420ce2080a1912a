import { useLayoutEffect, useState } from 'preact/hooks';

/** Something whose state changes, and that tells of it. */
export interface Live<State> {
  readonly state: State;
  /** Returns how to undo it. */
  subscribe(listener: () => void): () => unknown;
}

/** The state of what is watched; the component is drawn again with each change. */
export function useLive<State>(live: Live<State>): State {
  const [state, setState] = useState(live.state);
  useLayoutEffect(() => {
    const end = live.subscribe(() => setState(live.state));
    return () => void end();
  }, [live]);
  return state;
}
