// Whole pages to move. Both sides are page-sized places, counted from the start of their buffer.
struct PageMove {
  source: u32,
  destination: u32,
}

struct PageMoves {
  count: u32,
  moves: array<PageMove>,
}
