// The witness pattern, and the operations that write and read it. See src/witness/pattern.ts, page-ops.ts, page-shape.ts.
override workgroup_size: u32 = 64u;
override words_per_invocation: u32 = 16u;

// Words from one page to the next, those that belong to the group, and the rows in them.
override stride_words: u32 = 1u;
override page_words: u32 = 1u;
override rows: u32 = 1u;

// Tokens of a row, and how tokens are dealt out to ranks.
override ratio: u32 = 1u;
override interleave: u32 = 1u;
override ranks: u32 = 1u;
override rank: u32 = 0u;

// A workgroup takes one tile of one operation; tiles are counted from the operation's first word.
override words_per_tile: u32 = workgroup_size * words_per_invocation;
override tiles_per_page: u32 = (page_words + words_per_tile - 1u) / words_per_tile;

// A step of workgroup_size words, as whole rows and the rest: one division an invocation instead of one a word.
override rows_per_step: u32 = workgroup_size * rows / page_words;
override rest_per_step: u32 = workgroup_size * rows % page_words;

struct PageOp {
  page: u32,
  seed: u32,
  first_token: u32,
  word_start: u32,
  word_end: u32,
}

struct PageOps {
  count: u32,
  // Page ids count over the pool; the segment that is bound starts with this one.
  first_page: u32,
  step: u32,
  ops: array<PageOp>,
}

// A word of a page, and its row.
struct WordCursor {
  word: u32,
  row: u32,
  // ((word + 1) * rows - 1) modulo page_words; its quotient is the row.
  rest: u32,
}

fn first_word(op: PageOp, tile: u32, lane: u32) -> WordCursor {
  let word = op.word_start + tile * words_per_tile + lane;
  let scaled = (word + 1u) * rows - 1u;
  return WordCursor(word, scaled / page_words, scaled % page_words);
}

fn next_word(at: WordCursor) -> WordCursor {
  let word = at.word + workgroup_size;
  let rest = at.rest + rest_per_step;
  if (rest < page_words) {
    return WordCursor(word, at.row + rows_per_step, rest);
  }
  return WordCursor(word, at.row + rows_per_step + 1u, rest - page_words);
}

// The last token that a row stands for, as an index into the tokens of the step.
fn token_of_row(op: PageOp, row: u32) -> u32 {
  let local = (row + 1u) * ratio - 1u;
  let run = local / interleave;
  return op.first_token + (run * ranks + rank) * interleave + (local - run * interleave);
}

fn tile_end(op: PageOp, tile: u32) -> u32 {
  return min(op.word_end, op.word_start + (tile + 1u) * words_per_tile);
}

fn witness_word(seed: u32, token: u32, word: u32) -> u32 {
  var x = seed + token * 0x9e3779b9u + word * 0x85ebca6bu;
  x ^= x >> 16u;
  x *= 0x7feb352du;
  x ^= x >> 15u;
  x *= 0x846ca68bu;
  x ^= x >> 16u;
  return x;
}
