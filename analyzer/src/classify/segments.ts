import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import type { Partition } from '../partition/types.ts';
import type { Forest, Tree } from '../tree/types.ts';
import type { Classes, SegmentName } from './types.ts';

/**
 * @returns ns of a tree's root interval by segment, in the order of SEGMENTS, without segments that own nothing.
 * The values sum to the root's duration exactly.
 */
export function segmentsOfTree(
  forest: Forest,
  { owned }: Partition,
  { segment }: Classes,
  tree: Tree,
): Map<SegmentName, number> {
  const sums = new Float64Array(SEGMENTS.length);
  for (let at = tree.first; at < tree.first + tree.count; at++) {
    const row = forest.order[at];
    sums[segment[row]] += owned[row];
  }
  const result = new Map<SegmentName, number>();
  for (let i = 0; i < SEGMENTS.length; i++) if (sums[i] > 0) result.set(SEGMENTS[i], sums[i]);
  return result;
}
