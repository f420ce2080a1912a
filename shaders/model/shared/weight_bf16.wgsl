// Four weights in a row, stored as bf16: the upper halves of f32.
alias Weights = vec2u;

fn numbers_of(weights: Weights) -> vec4f {
  let low = weights << vec2u(16u);
  let high = weights & vec2u(0xffff0000u);
  return bitcast<vec4f>(vec4u(low.x, high.x, low.y, high.y));
}
