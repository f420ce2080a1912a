/** The CPU twin of each kernel, on a pool in one `Uint32Array`. One file a kernel, named after it. */
export { copyPages } from './copy-pages.ts';
export { gatherPages } from './gather-pages.ts';
export { scatterPages } from './scatter-pages.ts';
export { witnessCheck, type WitnessFindings } from './witness-check.ts';
export { witnessFill } from './witness-fill.ts';
export { zeroPages } from './zero-pages.ts';
