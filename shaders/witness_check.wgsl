struct Finding {
  page: u32,
  step: u32,
}

struct Report {
  mismatches: atomic<u32>,
  // The page recorded last in this step, plus one: most of its other invocations see it and record nothing.
  recent: atomic<u32>,
  // Counts on past the end of the list.
  recorded: atomic<u32>,
  findings: array<Finding>,
}

@group(0) @binding(0) var<storage, read> segment: array<u32>;
@group(0) @binding(1) var<storage, read> list: PageOps;
@group(0) @binding(2) var<storage, read> tokens: array<u32>;
@group(0) @binding(3) var<storage, read_write> report: Report;

// Counts the words that do not hold the witness pattern, and names some of their pages.
//
// Dispatch: one workgroup per tile of words_per_tile words of every operation, in workgroups over x and y.
// Reaches one segment. Nothing is exchanged within a workgroup, so there is no barrier: an invocation touches the
// report only if it found something, and the total is read in a later submit.
@compute @workgroup_size(workgroup_size)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.y * groups.x + group.x;
  let index = number / tiles_per_page;
  if (index >= list.count) {
    return;
  }
  let op = list.ops[index];
  let tile = number % tiles_per_page;
  let base = (op.page - list.first_page) * stride_words;
  let end = tile_end(op, tile);
  var mismatches = 0u;
  for (var at = first_word(op, tile, lane); at.word < end; at = next_word(at)) {
    mismatches += u32(segment[base + at.word] != witness_word(op.seed, tokens[token_of_row(op, at.row)], at.word));
  }
  if (mismatches == 0u) {
    return;
  }
  atomicAdd(&report.mismatches, mismatches);
  if (atomicExchange(&report.recent, op.page + 1u) == op.page + 1u) {
    return;
  }
  let place = atomicAdd(&report.recorded, 1u);
  if (place < arrayLength(&report.findings)) {
    report.findings[place] = Finding(op.page, list.step);
  }
}
