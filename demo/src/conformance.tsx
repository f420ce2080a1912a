import { render } from 'preact';
import { ConformanceRun } from './conformance/conformance-run.ts';
import { ConformancePage } from './conformance/page.tsx';

const run = new ConformanceRun();
render(<ConformancePage run={run} />, document.getElementById('app')!);
void run.start();

// For programs that drive the page, such as `npm run conformance`.
Object.assign(globalThis, { pagefenceRun: run });
