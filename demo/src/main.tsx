import './strict-csp.ts';
import { render } from 'preact';
import { Session } from './run/session.ts';
import { SAMPLES } from './run/load-trace.ts';
import { App } from './view/app.tsx';

const session = new Session();
render(<App session={session} />, document.getElementById('app')!);
if (!session.openLink(location.hash)) session.chooseSample(SAMPLES[0].id);
addEventListener('hashchange', () => session.openLink(location.hash));
