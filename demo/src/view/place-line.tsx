/** Where the pages live, and why. */
import type { SessionState } from '../run/session.ts';
import type { Place } from '../run/open-device.ts';

export function PlaceLine({ place, saved }: { place: Place | null; saved: SessionState['saved'] }) {
  if (saved !== null) {
    return (
      <p class="place simulated">
        <b>Recording</b> {saved.name}, recorded on: {saved.place}. Reset starts a new run of the same trace
        with the same settings.
      </p>
    );
  }
  if (place === null) return <p class="place">Looking for a GPU…</p>;
  if (place.kind === 'webgpu') {
    return (
      <p class="place webgpu">
        <b>WebGPU</b> {place.adapter}
        {place.software && '. This adapter computes on the CPU: right bytes, but no measure of a GPU.'}
      </p>
    );
  }
  return (
    <p class="place simulated">
      <b>Simulated worker</b> The same steps over plain arrays, byte for byte what a GPU would hold.{' '}
      {place.reason}
    </p>
  );
}
