/**
 * The numbers of WebGPU's flags, from the specification. Browsers and Deno have them as globals; in Node they are
 * globals only for those who made them so, and a caller's device works without.
 */

export const BufferUsage = {
  MAP_READ: 0x0001,
  MAP_WRITE: 0x0002,
  COPY_SRC: 0x0004,
  COPY_DST: 0x0008,
  STORAGE: 0x0080,
} as const;

export const MapMode = { READ: 0x0001, WRITE: 0x0002 } as const;

export const ShaderStage = { COMPUTE: 0x4 } as const;
