const LEVELS = '▁▂▃▄▅▆▇█';

/**
 * @returns one character a value on a fixed scale 0..max, a dot where the value is unknown, squeezed to `cells` by
 * the largest value of each cell (a peak must not disappear).
 */
export function sparkline(values: readonly (number | null)[], cells: number, max = 1): string {
  const out: string[] = [];
  const n = Math.min(cells, values.length);
  for (let i = 0; i < n; i++) {
    const group = values.slice(
      Math.floor((i * values.length) / n),
      Math.floor(((i + 1) * values.length) / n),
    );
    const known = group.filter((value): value is number => value !== null);
    if (known.length === 0) out.push('·');
    else out.push(LEVELS[Math.max(0, Math.min(7, Math.floor((Math.max(...known) / max) * 8)))]);
  }
  return out.join('');
}
