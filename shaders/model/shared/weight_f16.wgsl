// Four weights in a row, stored as f16. Unpacking is part of the language; arithmetic in f16 is not needed.
alias Weights = vec2u;

fn numbers_of(weights: Weights) -> vec4f {
  return vec4f(unpack2x16float(weights.x), unpack2x16float(weights.y));
}
