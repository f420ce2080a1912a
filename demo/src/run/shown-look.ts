/** What is to be drawn: a moment of the recording, or the present. */
import { lookAt, type Look } from './look.ts';
import type { SessionState } from './session.ts';

let drawn: { log: unknown; moment: number; look: Look } | null = null;

export function shownLook({ look, log, moment }: SessionState): Look | null {
  if (moment === null || log === null) return look;
  // Several views ask for the same moment.
  if (drawn?.log !== log || drawn.moment !== moment) drawn = { log, moment, look: lookAt(log, moment) };
  return drawn.look;
}
