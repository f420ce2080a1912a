/** Paragraphs of the WebGPU specification. */

const SPECIFICATION = 'https://www.w3.org/TR/webgpu/';
const SHADING_LANGUAGE = 'https://www.w3.org/TR/WGSL/';

/** `section, address`: for people first, and easily taken apart. */
export function webgpu(section: string, anchor: string): string {
  return `${section}, ${SPECIFICATION}#${anchor}`;
}

export function wgsl(section: string, anchor: string): string {
  return `${section}, ${SHADING_LANGUAGE}#${anchor}`;
}

/** The two halves of what the functions above make. */
export function sectionAndAddress(spec: string): { section: string; address: string } {
  const at = spec.lastIndexOf(', https://');
  return { section: spec.slice(0, at), address: spec.slice(at + 2) };
}
