// Keys and values in pages: layer of the group | keys, then values | head | token of the page | number of the head.
// See src/model/cache-layout.ts.
override heads: u32 = 1u;
override kv_heads: u32 = 1u;
override head_dim: u32 = 4u;
override page_tokens: u32 = 1u;
// Numbers from one page to the next.
override page_stride: u32 = 8u;

// Numbers of all keys, or all values, of one layer in a page.
override plane_numbers: u32 = kv_heads * page_tokens * head_dim;

// A computed token: where it stands in its sequence, and where its request's page table begins.
struct Row {
  position: u32,
  table: u32,
}

// The segment that is bound, and the layer. Page ids count over the pool.
struct Reach {
  rows: u32,
  layer: u32,
  first_page: u32,
  pages: u32,
  // Whether this is the first, and the last, of the segments that the rows' pages are in.
  is_first: u32,
  is_last: u32,
}

// The first number of a token's key, in a page of the segment. Its value is one plane further.
fn key_place(local_page: u32, layer: u32, head: u32, slot: u32) -> u32 {
  return local_page * page_stride + layer * 2u * plane_numbers + (head * page_tokens + slot) * head_dim;
}
