import type { Slice } from './activity.ts';

/**
 * A loop runs one thing at a time: where slices of one request and process overlap, as a named piece of work does with
 * the slice around it, each instant belongs to the one that began first.
 *
 * @param slices of one request, in any order; sorted by start afterwards.
 * @returns the same time, no instant twice.
 */
export function disjointSlices(slices: Slice[]): readonly Slice[] {
  if (slices.length < 2) return slices;
  slices.sort((a, b) => a.startNs - b.startNs || b.endNs - a.endNs);
  const ends = new Map<number, number>();
  const result: Slice[] = [];
  for (const slice of slices) {
    const loop = slice.queue * MOST_INSTANCES + slice.instance;
    const startNs = Math.max(slice.startNs, ends.get(loop) ?? slice.startNs);
    if (slice.endNs <= startNs && slice.endNs > slice.startNs) continue;
    ends.set(loop, Math.max(startNs, slice.endNs));
    result.push(startNs === slice.startNs ? slice : { ...slice, startNs });
  }
  return result;
}

/** Of one service: makes one number of queue and instance. */
const MOST_INSTANCES = 1 << 20;
