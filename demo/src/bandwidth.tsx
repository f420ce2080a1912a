import { render } from 'preact';
import { BandwidthRun } from './bandwidth/bandwidth-run.ts';
import { BandwidthPage } from './bandwidth/page.tsx';

const run = new BandwidthRun();
render(<BandwidthPage run={run} />, document.getElementById('app')!);

// For programs that drive the page, such as `npm run bandwidth`.
Object.assign(globalThis, { pagefenceRun: run });
