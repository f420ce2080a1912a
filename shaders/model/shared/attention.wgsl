// What both forms of attention over pages have in common.

// Tokens that a query reads, itself included. 0: all.
override window_tokens: u32 = 0u;

override head_vec4s: u32 = head_dim / 4u;
override plane_vec4s: u32 = plane_numbers / 4u;

// Stands in for minus infinity, which WGSL has no word for.
const LOWEST = -3.0e38;

// The first token that a query reads.
fn first_token(position: u32) -> u32 {
  return select(0u, position - window_tokens + 1u, window_tokens > 0u && position >= window_tokens);
}
