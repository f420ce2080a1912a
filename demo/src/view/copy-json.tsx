/** Puts the result on the clipboard, or in sight where the browser does not allow that. */
import { useState } from 'preact/hooks';

export function CopyJson({ result }: { result: object | null }) {
  const [outcome, setOutcome] = useState<'copied' | 'refused' | null>(null);
  const text = result === null ? '' : JSON.stringify(result, null, 2);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('copied');
    } catch {
      setOutcome('refused');
    }
  };
  return (
    <>
      <button type="button" disabled={result === null} onClick={() => void copy()}>
        {outcome === 'copied' ? 'Copied' : 'Copy as JSON'}
      </button>
      {outcome === 'refused' && (
        <textarea class="json" readOnly aria-label="The result as JSON, to copy by hand" value={text} />
      )}
    </>
  );
}
