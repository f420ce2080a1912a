// The norm of rows.
struct Norm {
  rows: u32,
  // Numbers of a row, and from one to the next, of operand and result alike.
  width: u32,
  stride: u32,
  // 1: the rows that `chosen` lists, instead of all.
  choose: u32,
  epsilon: f32,
}
