import './strict-csp.ts';
import { render } from 'preact';
import { LiveText } from './text/live-text.ts';
import { TextPage } from './text/page.tsx';

const live = new LiveText();
render(<TextPage live={live} />, document.getElementById('app')!);
void live.open();
