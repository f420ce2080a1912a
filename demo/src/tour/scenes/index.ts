/** The chapters, in the order in which they are told. */
import type { Scene } from '../scene.ts';
import { eviction } from './eviction.ts';
import { incident } from './incident.ts';
import { pages } from './pages.ts';
import { sharing } from './sharing.ts';

export const SCENES: readonly Scene[] = [pages, sharing, eviction, incident];
