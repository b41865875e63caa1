import type { QueueModel } from '../aggregate/queue-model.ts';

/** A smaller share is not worth moving. */
export const LEAST_MOVABLE = 0.1;

/** Parts of a hold that do without the resource, largest first, and their share of its own time (waits left out). */
export function movableParts(model: QueueModel): {
  readonly parts: readonly string[];
  readonly share: number;
} {
  const all = [...model.series.contents];
  const ownNs = all
    .filter(([what]) => !/^\w+_(wait|pause)\b/.test(what))
    .reduce((sum, [, part]) => sum + part.ns, 0);
  const movable = all.filter(([, part]) => part.movable).sort((a, b) => b[1].ns - a[1].ns);
  const ns = movable.reduce((sum, [, part]) => sum + part.ns, 0);
  return { parts: movable.map(([what]) => what), share: ownNs > 0 ? Math.min(1, ns / ownNs) : 0 };
}
