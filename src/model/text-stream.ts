/** The text of tokens as they come. */
import type { TextTokenizer } from './tokenizer.ts';

/** What a decoder puts where bytes are no character, or not one yet. */
const INCOMPLETE = '\uFFFD';

/** Tokens that may be needed before the ones that follow make a character, or a space is known to be one. */
const CONTEXT_TOKENS = 8;

/**
 * Turns tokens into pieces of text whose sum is the text of all. A token may end inside a character, and some
 * tokenizers drop a space at the beginning; so a piece is what a few tokens more make of the tokens before it.
 */
export class TextStream {
  private readonly tokenizer: TextTokenizer;
  private readonly ids: number[] = [];
  /** Tokens before this one have done their part. */
  private start = 0;
  /** Characters of the tokens from `start` on that were given out. */
  private given = 0;

  constructor(tokenizer: TextTokenizer) {
    this.tokenizer = tokenizer;
  }

  /** What the token adds. Empty while the last character is not complete. */
  add(token: number): string {
    this.ids.push(token);
    const text = this.tokenizer.decode(this.ids.slice(this.start));
    if (text.endsWith(INCOMPLETE)) return '';
    const piece = text.slice(this.given);
    this.given = text.length;
    if (this.ids.length - this.start > 2 * CONTEXT_TOKENS) this.forget();
    return piece;
  }

  /** Leaves out tokens that are far behind, unless the rest would then read otherwise. */
  private forget(): void {
    const start = this.ids.length - CONTEXT_TOKENS;
    const rest = this.tokenizer.decode(this.ids.slice(start));
    if (rest.startsWith(INCOMPLETE)) return;
    this.start = start;
    this.given = rest.length;
  }
}
