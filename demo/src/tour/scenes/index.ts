/** The chapters, in the order in which they are told. */
import type { Scene } from '../scene.ts';
import { copying } from './copying.ts';
import { eviction } from './eviction.ts';
import { host } from './host.ts';
import { incident } from './incident.ts';
import { pages } from './pages.ts';
import { policies } from './policies.ts';
import { sharing } from './sharing.ts';
import { windows } from './windows.ts';
import { zeroing } from './zeroing.ts';

export const SCENES: readonly Scene[] = [
  pages,
  sharing,
  copying,
  eviction,
  host,
  windows,
  zeroing,
  incident,
  policies,
];
