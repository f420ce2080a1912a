/** Numbers as people read them, and columns that line up. */

export function formatCount(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** `part` of `whole` in percent. */
export function formatShare(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`;
}

export function formatSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return '-';
  if (seconds < 9.995) return `${seconds.toFixed(2)} s`;
  if (seconds < 99.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  return minutes < 60
    ? `${minutes} min ${whole % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A count per second; `-` where no time has passed. */
export function formatRate(amount: number, seconds: number): string {
  if (seconds <= 0) return '-';
  const rate = amount / seconds;
  return `${rate >= 10 ? formatCount(rate) : rate.toFixed(1)}/s`;
}

const FILES_SHOWN_MAX = 2;

/** The names of files, or of the first where there are many. */
export function filesText(files: readonly string[]): string {
  if (files.length <= FILES_SHOWN_MAX) return files.join(', ');
  return `${files[0]} and ${files.length - 1} more`;
}

/** Rows as lines. Columns are as wide as their widest cell, two spaces apart; those in `right` are flush right. */
export function alignColumns(
  rows: readonly (readonly string[])[],
  options: { right?: readonly number[]; indent?: number } = {},
): string[] {
  const { right = [], indent = 0 } = options;
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  }
  return rows.map((row) => {
    const cells = row.map((cell, index) =>
      right.includes(index) ? cell.padStart(widths[index]) : cell.padEnd(widths[index]),
    );
    return `${' '.repeat(indent)}${cells.join('  ')}`.trimEnd();
  });
}
