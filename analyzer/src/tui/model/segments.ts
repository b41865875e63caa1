import type { SegmentRow } from '../../aggregate/types.ts';
import type { SegmentName } from '../../classify/types.ts';

/** A part of a stacked bar. */
export interface Part {
  readonly segment: SegmentName;
  readonly resource: string | null;
  /** ns, a mean per request: parts of one group add up. */
  readonly meanNs: number;
}

/** @returns the parts of a group merged over services, largest first; zero parts left out. */
export function partsOf(rows: readonly SegmentRow[]): Part[] {
  const merged = new Map<string, Part>();
  for (const { segment, resource, meanNs } of rows) {
    const key = `${segment} ${resource ?? ''}`;
    const sum = (merged.get(key)?.meanNs ?? 0) + meanNs;
    merged.set(key, { segment, resource, meanNs: sum });
  }
  return sorted([...merged.values()]);
}

/** @returns parts with equal segments joined, for bars too short for resources. */
export function bySegment(parts: readonly Part[]): Part[] {
  const merged = new Map<SegmentName, Part>();
  for (const { segment, meanNs } of parts) {
    merged.set(segment, { segment, resource: null, meanNs: (merged.get(segment)?.meanNs ?? 0) + meanNs });
  }
  return sorted([...merged.values()]);
}

function sorted(parts: Part[]): Part[] {
  return parts
    .filter((part) => part.meanNs > 0)
    .sort((a, b) => b.meanNs - a.meanNs || (a.segment < b.segment ? -1 : 1));
}

/** @returns the segment as people read it: `lock wait`, `event loop wait`. */
export function segmentText(segment: SegmentName): string {
  return segment.replace('eventloop', 'event loop').replace('threadpool', 'thread pool').replaceAll('_', ' ');
}

/** @returns a part's label: its segment, with the resource where it has one. */
export function partText({ segment, resource }: Pick<Part, 'segment' | 'resource'>): string {
  return resource ? `${segmentText(segment)} ${resource}` : segmentText(segment);
}
