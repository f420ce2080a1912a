/** Where the pages live, and why. */
import type { Place } from '../run/open-device.ts';

export function PlaceLine({ place }: { place: Place | null }) {
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
