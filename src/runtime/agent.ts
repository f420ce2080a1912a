/** What this runtime calls itself. */

interface Globals {
  readonly Deno?: { readonly version?: { readonly deno?: string; readonly v8?: string } };
  readonly process?: { readonly versions?: { readonly node?: string } };
  readonly navigator?: { readonly userAgent?: string };
}

/** Name and version, as far as the runtime tells them; never empty. */
export function agentName(globals: Globals = globalThis): string {
  const { Deno, process, navigator } = globals;
  if (Deno !== undefined) return `Deno/${Deno.version?.deno ?? 'unknown'}`;
  const node = process?.versions?.node;
  if (node !== undefined) return `Node.js/${node}`;
  return navigator?.userAgent ?? 'unknown';
}
