/** Half-open stretches of time, ns; the windows of a run do not overlap and are in order. */
export interface Span {
  readonly startNs: number;
  readonly endNs: number;
}

/** @returns index of the window that contains a time, -1 outside all of them. */
export function windowAt(windows: readonly Span[], timeNs: number): number {
  let low = 0;
  let high = windows.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (timeNs < windows[middle].startNs) high = middle - 1;
    else if (timeNs >= windows[middle].endNs) low = middle + 1;
    else return middle;
  }
  return -1;
}

/** Adds weight × overlap of [start, end) with each window to `sums`: the time integral behind every utilisation. */
export function addClipped(
  windows: readonly Span[],
  startNs: number,
  endNs: number,
  weight: number,
  sums: Float64Array,
): void {
  for (let w = firstEndingAfter(windows, startNs); w < windows.length; w++) {
    if (windows[w].startNs >= endNs) return;
    const overlap = Math.min(endNs, windows[w].endNs) - Math.max(startNs, windows[w].startNs);
    if (overlap > 0) sums[w] += overlap * weight;
  }
}

function firstEndingAfter(windows: readonly Span[], timeNs: number): number {
  let low = 0;
  let high = windows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (windows[middle].endNs > timeNs) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** @returns 1 at each of some windows, 0 at the others. */
export function windowFlags(chosen: readonly number[], windows: number): Uint8Array {
  const flags = new Uint8Array(windows);
  for (const w of chosen) flags[w] = 1;
  return flags;
}
