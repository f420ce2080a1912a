import './strict-csp.ts';
import { render } from 'preact';
import { TourPage } from './tour/page.tsx';
import { TourPlayer } from './tour/player.ts';
import { SCENES } from './tour/scenes/index.ts';

const player = new TourPlayer(SCENES);
render(<TourPage player={player} />, document.getElementById('app')!);
void player.openAddress(location.hash);
