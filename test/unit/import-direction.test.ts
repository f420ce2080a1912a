/** The architecture's import rules, read off the files. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'src');

/** What each part may import besides itself. `units`, `errors` and `config` are open to all but each other's users. */
const LEAVES = ['units', 'errors', 'config'];
const RULES: Record<string, readonly string[]> = {
  units: [],
  errors: [],
  config: ['units', 'errors'],
  'host-memory': ['units', 'errors', 'runtime/machine-memory'],
  cache: LEAVES,
  schedule: [...LEAVES, 'cache'],
  offload: [...LEAVES, 'cache', 'schedule'],
  transfer: [...LEAVES, 'schedule/step-plan'],
  witness: [...LEAVES, 'schedule/step-plan'],
  'event-loop': [],
  gpu: [...LEAVES, 'host-memory', 'event-loop', 'schedule/step-plan', 'transfer', 'witness'],
  reference: [...LEAVES, 'host-memory', 'schedule/step-plan', 'transfer', 'witness'],
  runtime: ['units', 'errors'],
  conformance: [
    'units',
    'errors',
    'event-loop',
    'gpu',
    'reference/kernels',
    'witness',
    'runtime/adapter',
    'runtime/agent',
    'runtime/detect',
  ],
  bandwidth: [
    'units',
    'errors',
    'gpu',
    'host-memory',
    'schedule/step-plan',
    'runtime/adapter',
    'runtime/agent',
    'runtime/detect',
  ],
  recording: [
    ...LEAVES,
    'cache',
    'engine',
    'inspect',
    'offload',
    'schedule',
    'statistics',
    'transfer-log',
    'written-pages',
  ],
  // Nothing below may import it: it is not in their lists.
  model: [
    ...LEAVES,
    'create-engine',
    'engine',
    'event-loop',
    'gpu',
    'host-memory',
    'prefix-chunks',
    'reference',
    'runtime/detect',
    'schedule',
    'speculation',
  ],
  speculation: ['schedule/request'],
};

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return /\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

/** `cache/page-pool` for a path below `src`. */
function nameOf(path: string): string {
  return relative(root, path)
    .split(sep)
    .join('/')
    .replace(/\.d?\.?tsx?$/, '');
}

function importsOf(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) => match[1]);
}

describe('imports', () => {
  const files = sources(root);

  it('are looked at in every part that has a rule', () => {
    const parts = new Set(files.map((file) => nameOf(file).split('/')[0]));
    for (const part of Object.keys(RULES)) expect(parts, part).toContain(part);
  });

  it.each(files.map((file) => [nameOf(file), file] as const))('of %s point the right way', (name, file) => {
    const part = name.split('/')[0];
    const allowed = RULES[part];
    if (!allowed) return; // the engine and what stands above it may import all
    for (const specifier of importsOf(file)) {
      if (specifier.includes('.wgsl')) continue;
      const target = nameOf(normalize(join(dirname(file), specifier)));
      const inside = target.split('/')[0] === part;
      const permitted = allowed.some((prefix) => target === prefix || target.startsWith(`${prefix}/`));
      expect(inside || permitted, `${name} imports ${target}`).toBe(true);
    }
  });

  it('of shaders stand in the two lists of kernels alone', () => {
    const importers = files.filter((file) =>
      importsOf(file).some((specifier) => specifier.includes('.wgsl')),
    );
    expect(importers.map(nameOf).sort()).toEqual(['gpu/kernels', 'model/gpu/kernels']);
  });
});
