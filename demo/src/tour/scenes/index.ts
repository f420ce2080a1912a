/** The chapters, in the order in which they are told. */
import type { Scene } from '../scene.ts';
import { incident } from './incident.ts';

export const SCENES: readonly Scene[] = [incident];
