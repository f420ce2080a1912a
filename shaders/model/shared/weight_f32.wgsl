// Four weights in a row, stored as f32.
alias Weights = vec4f;

fn numbers_of(weights: Weights) -> vec4f {
  return weights;
}
