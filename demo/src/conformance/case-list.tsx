/** Cases, each with what it says on demand. */
import { sectionAndAddress } from '../../../src/conformance/spec.ts';
import type { CaseResult } from '../../../src/conformance/suite.ts';

export function CaseList({ results }: { results: readonly CaseResult[] }) {
  return (
    <ul class="case-list">
      {results.map((result) => (
        <li key={result.id}>
          <Case {...result} />
        </li>
      ))}
    </ul>
  );
}

function Case({ id, status, title, detail, promise, spec }: CaseResult) {
  const { section, address } = sectionAndAddress(spec);
  return (
    <details data-case={id}>
      <summary>
        <span class={`case-status ${status}`}>{status}</span> {title}
      </summary>
      <dl>
        {detail !== '' && (
          <div>
            <dt>Seen</dt>
            <dd>
              {detail.split('\n').map((line) => (
                <p key={line}>{line}</p>
              ))}
            </dd>
          </div>
        )}
        <div>
          <dt>What stands on it</dt>
          <dd>{promise}</dd>
        </div>
        <div>
          <dt>Specified in</dt>
          <dd>
            <a href={address} rel="noreferrer">
              {section}
            </a>
          </dd>
        </div>
        <div>
          <dt>Case</dt>
          <dd>{id}</dd>
        </div>
      </dl>
    </details>
  );
}
