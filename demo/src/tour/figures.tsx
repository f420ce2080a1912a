/** What a chapter shows beside the cache: bytes compared, places of one memory, bars, curves. */
import { ownerColour } from '../view/cells.ts';
import type { BarsFigure, BytesFigure, CurvesFigure, Figure, PlacesFigure } from './moment.ts';
import { WordsStrip, wordsText } from './words-strip.tsx';

export function Figures({ figures }: { figures: readonly Figure[] }) {
  return (
    <>
      {figures.map((figure) => (
        <section
          key={figure.title}
          class={`panel tour-figure figure-${figure.kind}`}
          aria-label={figure.title}
        >
          <h3>{figure.title}</h3>
          <One figure={figure} />
        </section>
      ))}
    </>
  );
}

function One({ figure }: { figure: Figure }) {
  switch (figure.kind) {
    case 'bytes':
      return <Bytes figure={figure} />;
    case 'places':
      return <Places figure={figure} />;
    case 'bars':
      return <Bars figure={figure} />;
    case 'curves':
      return <Curves figure={figure} />;
  }
}

function Bytes({ figure: { rows, isChange = false } }: { figure: BytesFigure }) {
  return (
    <dl class="bytes-rows">
      {rows.map(({ label, words }, i) => (
        <div key={label} data-zeros={words.filter((word) => word === 0).length}>
          <dt>{label}</dt>
          <dd>
            {/* Rows come in pairs: what must be, and what is. */}
            <WordsStrip words={words} expected={!isChange && i % 2 === 1 ? rows[i - 1].words : undefined} />
            <code>{words.slice(0, 4).map(hex).join(' ')} …</code>
            <span class="visually-hidden">{wordsText(words)}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function hex(word: number): string {
  return word.toString(16).padStart(8, '0');
}

function Places({ figure: { places, note } }: { figure: PlacesFigure }) {
  return (
    <>
      <div class="places" aria-hidden="true">
        {places.map(({ owner, isUsed, isFirst = false }, i) => (
          <i
            key={i}
            class={`${isUsed ? 'used' : 'unused'} ${isFirst ? 'first' : ''} ${owner === null ? 'nobody' : `owner-${ownerColour(String(owner))}`}`}
          />
        ))}
      </div>
      <p class="aside">{note}</p>
    </>
  );
}

function Bars({ figure: { rows, max } }: { figure: BarsFigure }) {
  return (
    <dl class="bars">
      {rows.map(({ label, value, text }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            <progress max={Math.max(1, max)} value={value} aria-label={label} /> <span>{text}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

const CURVE_WIDTH = 600;
const CURVE_HEIGHT = 180;

function Curves({ figure: { curves, length, about } }: { figure: CurvesFigure }) {
  const place = (value: number, i: number) =>
    `${((i / Math.max(1, length - 1)) * CURVE_WIDTH).toFixed(1)} ${((1 - value) * CURVE_HEIGHT).toFixed(1)}`;
  return (
    <>
      <svg
        class="curves"
        viewBox={`-2 -2 ${CURVE_WIDTH + 4} ${CURVE_HEIGHT + 4}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={about}
      >
        <path class="axis" d={`M0 0V${CURVE_HEIGHT}H${CURVE_WIDTH}`} />
        {curves.map(({ name, points }, i) => (
          <path key={name} class={`curve curve-${i}`} d={`M${points.map(place).join('L')}`} />
        ))}
      </svg>
      <ul class="curve-names">
        {curves.map(({ name, points }, i) => (
          <li key={name}>
            <svg viewBox="0 0 24 8" aria-hidden="true">
              <path class={`curve curve-${i}`} d="M0 4H24" />
            </svg>
            {name} <b>{points.length === 0 ? '' : `${(100 * points.at(-1)!).toFixed(1)} %`}</b>
          </li>
        ))}
      </ul>
    </>
  );
}
