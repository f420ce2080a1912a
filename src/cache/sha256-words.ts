/**
 * SHA-256 (FIPS 180-4) of messages that consist of whole 32-bit words.
 *
 * The function reads its input as big-endian words anyway, so a message that is given as words needs neither a byte
 * view nor a byte swap, and comes out the same on every machine. Prefix keys hash four bytes a token of every prompt;
 * this loop runs about one and a half times as fast as a general byte-wise implementation, against which it is tested.
 */

// First 32 bits of the fractional parts of the cube roots of the first 64 primes.
// prettier-ignore
const ROUND_CONSTANTS = Int32Array.from([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]);
// First 32 bits of the fractional parts of the square roots of the first 8 primes.
const INITIAL_STATE = Int32Array.from([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
]);
const BLOCK_WORDS = 16;
const STATE_WORDS = 8;
/** Words of the last block that are left for the message; the other two hold its length in bits. */
const LAST_BLOCK_WORDS = 14;
const END_MARK = 0x80000000;

// Scratch memory is shared: nothing here awaits or calls out while it is in use.
const schedule = new Int32Array(64);
const state = new Int32Array(STATE_WORDS);
const block = new Uint32Array(BLOCK_WORDS);

// Additions are truncated one by one, which keeps them in 32-bit integer registers.
const bigSigma0 = (x: number): number =>
  ((x >>> 2) | (x << 30)) ^ ((x >>> 13) | (x << 19)) ^ ((x >>> 22) | (x << 10));
const bigSigma1 = (x: number): number =>
  ((x >>> 6) | (x << 26)) ^ ((x >>> 11) | (x << 21)) ^ ((x >>> 25) | (x << 7));
const smallSigma0 = (x: number): number => ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
const smallSigma1 = (x: number): number => ((x >>> 17) | (x << 15)) ^ ((x >>> 19) | (x << 13)) ^ (x >>> 10);

function compress(words: Uint32Array, offset: number): void {
  for (let i = 0; i < 16; i++) schedule[i] = words[offset + i]!;
  for (let i = 16; i < 64; i++) {
    const near = (smallSigma0(schedule[i - 15]) + smallSigma1(schedule[i - 2])) | 0;
    schedule[i] = (((schedule[i - 16] + schedule[i - 7]) | 0) + near) | 0;
  }
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let i = 0; i < 64; i++) {
    const input = (h + ((ROUND_CONSTANTS[i] + schedule[i]) | 0)) | 0;
    const choice = g ^ (e & (f ^ g));
    const majority = (a & b) ^ (c & (a ^ b));
    const first = (((input + choice) | 0) + bigSigma1(e)) | 0;
    const second = (bigSigma0(a) + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

/**
 * SHA-256 of 32 bytes followed by `words`, each as four bytes, most significant first.
 *
 * @param head 32 bytes.
 * @param words any number of 32-bit words.
 * @param out takes the 32 bytes of the digest. May be `head`.
 */
export function sha256OfWords(head: Uint8Array, words: Uint32Array, out: Uint8Array): void {
  state.set(INITIAL_STATE);
  for (let i = 0; i < STATE_WORDS; i++) {
    const at = 4 * i;
    block[i] = (head[at] << 24) | (head[at + 1] << 16) | (head[at + 2] << 8) | head[at + 3];
  }
  let filled = STATE_WORDS;
  let taken = 0;
  while (filled < BLOCK_WORDS && taken < words.length) block[filled++] = words[taken++]!;
  if (filled === BLOCK_WORDS) {
    compress(block, 0);
    for (; taken + BLOCK_WORDS <= words.length; taken += BLOCK_WORDS) compress(words, taken);
    filled = 0;
    while (taken < words.length) block[filled++] = words[taken++]!;
  }
  block[filled] = END_MARK;
  block.fill(0, filled + 1);
  if (filled >= LAST_BLOCK_WORDS) {
    compress(block, 0);
    block.fill(0);
  }
  const bits = (STATE_WORDS + words.length) * 32;
  block[14] = Math.floor(bits / 2 ** 32);
  block[15] = bits;
  compress(block, 0);
  for (let i = 0; i < STATE_WORDS; i++) {
    const word = state[i];
    out[4 * i] = word >>> 24;
    out[4 * i + 1] = word >>> 16;
    out[4 * i + 2] = word >>> 8;
    out[4 * i + 3] = word;
  }
}
