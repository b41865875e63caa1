const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** @returns a bar of `share` (0..1) of `cells`, exact to an eighth of a cell, filled with spaces to `cells`. */
export function bar(share: number, cells: number): string {
  const eighths = Math.round(Math.max(0, Math.min(1, share)) * cells * 8);
  const text = '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8];
  return text + ' '.repeat(cells - text.length);
}

/** @returns whole cells for each part, summing exactly to `cells` (largest remainder). */
export function apportion(parts: readonly number[], cells: number): number[] {
  const total = parts.reduce((a, b) => a + b, 0);
  if (total <= 0) return parts.map(() => 0);
  const exact = parts.map((part) => (part / total) * cells);
  const whole = exact.map(Math.floor);
  let left = cells - whole.reduce((a, b) => a + b, 0);
  const byRemainder = exact
    .map((value, index) => ({ index, rest: value - Math.floor(value) }))
    .sort((a, b) => b.rest - a.rest || a.index - b.index);
  for (const { index } of byRemainder) {
    if (left === 0) break;
    whole[index]++;
    left--;
  }
  return whole;
}
