// A product of rows and part of a matrix that has one row an output. Rows of both are padded to whole vec4s, with zeros
// in the matrix.
struct Product {
  rows: u32,
  // vec4s of a row, of the operand and of the matrix alike.
  width: u32,
  // Rows of the matrix that are bound, and the first of them as an output.
  outputs: u32,
  first_output: u32,
  // Numbers from one row of the result to the next.
  result_stride: u32,
  // 1: the product is added to what is there.
  accumulate: u32,
}

fn place_of(product: Product, row: u32, output: u32) -> u32 {
  return row * product.result_stride + product.first_output + output;
}
