/** Requests by name, each with its colour. */
import { ownerColour } from '../view/cells.ts';

export function Names({ owners, names }: { owners: readonly string[]; names: readonly string[] }) {
  return (
    <span class="names">
      {owners.map((id) => (
        <span key={id}>
          <i class={`chip owner-${ownerColour(id)}`} aria-hidden="true" />
          {names[Number(id)] ?? id}
        </span>
      ))}
    </span>
  );
}
