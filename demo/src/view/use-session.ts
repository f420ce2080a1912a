import { useLayoutEffect, useState } from 'preact/hooks';
import type { Session, SessionState } from '../run/session.ts';

/** The state of the session; the component is drawn again with each change. */
export function useSession(session: Session): SessionState {
  const [state, setState] = useState(session.state);
  useLayoutEffect(() => session.subscribe(() => setState(session.state)), [session]);
  return state;
}
