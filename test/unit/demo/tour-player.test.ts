/** Which moment is shown: steps, plays, choices and addresses, in any order. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PACES, TourPlayer } from '../../../demo/src/tour/player.ts';
import { SCENES } from '../../../demo/src/tour/scenes/index.ts';

async function opened(address = 'eviction'): Promise<TourPlayer> {
  const player = new TourPlayer(SCENES);
  await player.openAddress(`#${address}`);
  return player;
}

describe('the player', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('shows the same moment after going back and forth', async () => {
    const player = await opened();
    player.show(3);
    const moment = player.state.moments[player.state.at];
    player.show(0);
    player.show(99);
    expect(player.state.at).toBe(player.state.moments.length - 1);
    player.show(-5);
    expect(player.state.at).toBe(0);
    player.show(3);
    expect(player.state.moments[player.state.at]).toBe(moment);
  });

  it('plays to the end, and from the beginning after that', async () => {
    const player = await opened();
    const { length } = player.state.moments;
    player.play();
    vi.advanceTimersByTime(PACES[1].milliseconds * (length - 2));
    expect(player.state).toMatchObject({ status: 'playing', at: length - 2 });
    vi.advanceTimersByTime(PACES[1].milliseconds);
    expect(player.state).toMatchObject({ status: 'ready', at: length - 1 });
    player.play();
    expect(player.state).toMatchObject({ status: 'playing', at: 0 });
    player.pause();
    vi.advanceTimersByTime(100_000);
    expect(player.state).toMatchObject({ status: 'ready', at: 0 });
  });

  it('keeps its place when something else is chosen', async () => {
    const player = await opened();
    player.show(3);
    const before = player.state.moments[3].caption;
    await player.choose('order', 'head');
    expect(player.state).toMatchObject({ at: 3, chosen: { order: 'head', others: '2' } });
    expect(player.state.moments[3].caption).not.toBe(before);
  });

  it('finds an address again', async () => {
    const player = await opened('incident/7/fence=off');
    expect(player.state).toMatchObject({ at: 6, chosen: { fence: 'off' } });
    const again = await opened(player.address);
    expect(again.state.moments).toEqual(player.state.moments);
    expect(again.address).toBe(player.address);
  });

  it.each(['', 'nowhere/3', '%E0%A4/%', 'pages/first', 'pages/0/reserve=all', 'pages/-1/page=3/x=y'])(
    'passes over what an address names and there is not: %j',
    async (address) => {
      const player = await opened(address);
      expect(player.state).toMatchObject({
        status: 'ready',
        at: 0,
        scene: { id: 'pages' },
        chosen: { reserve: 'longest', page: '4' },
      });
    },
  );

  it('shows what was asked for last, however wildly', async () => {
    const player = await opened();
    const asked = SCENES.map((scene) => player.openScene(scene));
    player.play();
    player.show(2);
    asked.push(player.choose('capacity', '12'), player.openAddress('#incident/2/fence=off'));
    player.pause();
    await Promise.all(asked);
    expect(player.address).toBe('incident/2/fence=off');
    expect(player.state.status).toBe('ready');
  });
});
