/** The bytes of a page or slot: one bar a 32-bit word, empty for zero. */
import { POISON_WORD } from '../../../src/witness/pattern.ts';

const WIDTH = 6;
const HEIGHT = 12;

/** Words from `used` on do not belong to the group, and are drawn small. */
export function WordsStrip({
  words,
  used = words.length,
  expected,
}: {
  words: readonly number[];
  used?: number;
  /** Where a word is another one than here, it is crossed out. */
  expected?: readonly number[];
}) {
  return (
    <svg
      class="words-strip"
      viewBox={`0 0 ${words.length * WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {words.map((word, i) => {
        const isOutside = i >= used;
        const x = i * WIDTH + 0.75;
        const shape = {
          x,
          width: WIDTH - 1.5,
          y: isOutside ? 8.5 : 0.75,
          height: isOutside ? 2.75 : HEIGHT - 1.5,
        };
        const isWrong = expected !== undefined && expected[i] !== word;
        const kind = word === 0 ? 'zero' : word === POISON_WORD ? 'poison' : 'filled';
        return (
          <g key={i}>
            <rect class={`word ${kind}`} {...shape} fill-opacity={kind === 'filled' ? shade(word) : 1} />
            {isWrong && <path class="wrong" d={`M${x} 1l${WIDTH - 1.5} ${HEIGHT - 2}`} />}
          </g>
        );
      })}
    </svg>
  );
}

/** Different words look different, mostly. */
function shade(word: number): number {
  return 0.35 + 0.65 * (((word ^ (word >>> 16)) & 0xff) / 255);
}

/** The strip in words, for who cannot see it. */
export function wordsText(words: readonly number[]): string {
  const zeros = words.filter((word) => word === 0).length;
  if (words.length === 0) return 'nothing';
  if (zeros === words.length) return 'all zeros';
  return zeros === 0 ? `${words.length} words, none zero` : `${words.length} words, ${zeros} of them zero`;
}
