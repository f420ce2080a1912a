/** What Deno refuses to a program that it was not told to trust. */

export interface MissingPermission {
  /** In Deno's words: `sys access to "homedir"`. */
  readonly access: string;
  /** The option of `deno run` that grants it. */
  readonly flag: string;
}

/** The permission for whose lack an error was thrown, in it or in what caused it; undefined for any other error. */
export function missingPermission(error: unknown): MissingPermission | undefined {
  // Node's modules in Deno hand such errors on under other names, so the message tells.
  for (let each = error; each instanceof Error; each = each.cause) {
    const [, access, flag] =
      /^Requires (.+), run again with the (--allow-[a-z-]+) flag/.exec(each.message) ?? [];
    if (access !== undefined) return { access, flag };
  }
  return undefined;
}
