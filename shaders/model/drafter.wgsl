// What a drafter does for one request.
struct Job {
  // Page of the state to start from; 0: zeros.
  source: u32,
  // Page that keeps that state as well, before it moves on; 0: none.
  hand_off: u32,
  // In `lists`: tokens, and the pages of the states after the last of them.
  first_token: u32,
  tokens: u32,
  first_target: u32,
  targets: u32,
  // Tokens to propose, and where in `proposed`.
  proposals: u32,
  first_proposal: u32,
}

override width: u32;
override vocabulary: u32;
// Numbers from one page to the next.
override page_stride: u32;
override embed_scale: f32;
override epsilon: f32;

const WIDTH_MAX = 1024u;

@group(0) @binding(0) var<storage, read_write> segment: array<f32>;
// [width, width] each: input, gate, output, skip. [width] each: norm of the state, norm, sigmoid of decay.
@group(0) @binding(1) var<storage, read> weights: array<f32>;
// [vocabulary, width]
@group(0) @binding(2) var<storage, read> embedding: array<f32>;
@group(0) @binding(3) var<storage, read> jobs: array<Job>;
@group(0) @binding(4) var<storage, read> lists: array<u32>;
@group(0) @binding(5) var<storage, read_write> proposed: array<u32>;

// Each lane has numbers of its own, LANES apart; others read them behind a barrier.
var<workgroup> state: array<f32, WIDTH_MAX>;
var<workgroup> hidden: array<f32, WIDTH_MAX>;
var<workgroup> best_logits: array<f32, LANES>;
var<workgroup> best_tokens: array<u32, LANES>;

fn embedded(row: u32, token: u32) -> f32 {
  var sum = 0.0;
  for (var i = 0u; i < width; i++) {
    sum += weights[row * width + i] * embedding[token * width + i];
  }
  return sum * embed_scale;
}

fn advance(token: u32, lane: u32) {
  for (var i = lane; i < width; i += LANES) {
    let decay = weights[4u * width * width + 2u * width + i];
    state[i] = decay * state[i] + (1.0 - decay) * embedded(i, token);
  }
}

fn keep(page: u32, lane: u32) {
  for (var i = lane; i < width; i += LANES) {
    segment[page * page_stride + i] = state[i];
  }
}

// Dispatch: one workgroup per job, along x.
@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let job = jobs[group.x];
  for (var i = lane; i < width; i += LANES) {
    state[i] = select(0.0, segment[job.source * page_stride + i], job.source != 0u);
  }
  if (job.hand_off != 0u) {
    keep(job.hand_off, lane);
  }
  var token = 0u;
  for (var at = 0u; at < job.tokens; at++) {
    token = lists[job.first_token + at];
    advance(token, lane);
    if (at + job.targets >= job.tokens) {
      keep(lists[job.first_target + at + job.targets - job.tokens], lane);
    }
  }
  for (var proposal = 0u; proposal < job.proposals; proposal++) {
    if (proposal > 0u) {
      advance(token, lane);
    }
    workgroupBarrier();
    var squares = 0.0;
    for (var i = 0u; i < width; i++) {
      squares += state[i] * state[i];
    }
    let state_scale = inverseSqrt(squares / f32(width) + epsilon);
    for (var i = lane; i < width; i += LANES) {
      let gate = embedded(width + i, token);
      hidden[i] = state[i] * state_scale * weights[4u * width * width + i] * gate / (1.0 + exp(-gate));
    }
    workgroupBarrier();
    var sums: array<f32, WIDTH_MAX / LANES>;
    for (var i = lane; i < width; i += LANES) {
      var sum = embedded(3u * width + i, token);
      for (var j = 0u; j < width; j++) {
        sum += weights[(2u * width + i) * width + j] * hidden[j];
      }
      sums[i / LANES] = sum;
    }
    workgroupBarrier();
    // The norm divides all numbers by one root, which leaves the largest logit the largest.
    for (var i = lane; i < width; i += LANES) {
      hidden[i] = sums[i / LANES] * weights[4u * width * width + width + i];
    }
    workgroupBarrier();
    var best = lane;
    var best_logit = 0.0;
    for (var candidate = lane; candidate < vocabulary; candidate += LANES) {
      var logit = 0.0;
      for (var i = 0u; i < width; i++) {
        logit += hidden[i] * embedding[candidate * width + i];
      }
      if (candidate == lane || logit > best_logit) {
        best = candidate;
        best_logit = logit;
      }
    }
    best_logits[lane] = best_logit;
    best_tokens[lane] = best;
    workgroupBarrier();
    token = best_tokens[0];
    var highest = best_logits[0];
    for (var i = 1u; i < min(LANES, vocabulary); i++) {
      if (best_logits[i] > highest || (best_logits[i] == highest && best_tokens[i] < token)) {
        highest = best_logits[i];
        token = best_tokens[i];
      }
    }
    if (lane == 0u) {
      proposed[job.first_proposal + proposal] = token;
    }
  }
}
