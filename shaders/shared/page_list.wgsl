// Pages of one segment, counted from its first.
struct PageList {
  count: u32,
  fill: u32,
  pages: array<u32>,
}
