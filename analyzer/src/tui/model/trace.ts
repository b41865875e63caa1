import type { SegmentName } from '../../classify/types.ts';
import { duration } from '../../report/units.ts';
import type { StripPart } from '../draw/strip.ts';
import type { TraceDetail, TraceRow } from '../session.ts';
import { segmentText } from './segments.ts';

/** Time of one (segment, resource) in a trace, and the spans it comes from. */
export interface TracePart {
  readonly segment: SegmentName;
  readonly resource: string | null;
  readonly ownedNs: number;
  readonly spans: number;
}

const PARTS = new WeakMap<TraceDetail, readonly TracePart[]>();

/** @returns the trace's time by segment and resource, most first; together they are its duration. */
export function traceParts(trace: TraceDetail): readonly TracePart[] {
  const known = PARTS.get(trace);
  if (known) return known;
  const sums = new Map<string, TracePart>();
  for (const { segment, resource, ownedNs } of trace.rows) {
    if (ownedNs === 0) continue;
    const key = `${segment} ${resource ?? ''}`;
    const sum = sums.get(key);
    sums.set(key, {
      segment,
      resource,
      ownedNs: (sum?.ownedNs ?? 0) + ownedNs,
      spans: (sum?.spans ?? 0) + 1,
    });
  }
  const parts = [...sums.values()].sort((a, b) => b.ownedNs - a.ownedNs);
  PARTS.set(trace, parts);
  return parts;
}

/** @returns the trace's time by segment, largest first, as parts of one bar. */
export function stripParts(trace: TraceDetail): StripPart[] {
  const sums = new Map<SegmentName, number>();
  for (const { segment, ownedNs } of traceParts(trace)) sums.set(segment, (sums.get(segment) ?? 0) + ownedNs);
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .map(([color, value]) => ({ color, value, label: `${segmentText(color)} ${duration(value)}` }));
}

/** @returns how sure an interval is: `≈ estimated, 3 ms to 9 ms`; empty for a measured one. */
export function estimateText({ estimated, estimateMinNs, estimateMaxNs }: TraceRow): string {
  if (!estimated && estimateMinNs === null && estimateMaxNs === null) return '';
  if (estimateMinNs === null && estimateMaxNs === null) return '≈ estimated, bounds not stated';
  if (estimateMinNs !== null && estimateMaxNs !== null && duration(estimateMinNs) === duration(estimateMaxNs))
    return `≈ estimated, to within ${duration(estimateMaxNs - estimateMinNs)}`;
  return `≈ estimated, between ${duration(estimateMinNs ?? 0)} and ${duration(estimateMaxNs)}`;
}

/** @returns index (into the rows) of the next row that waits or is blocked, from `from` on in a direction; -1. */
export function nextWait(trace: TraceDetail, from: number, step: 1 | -1): number {
  for (let index = from + step; index >= 0 && index < trace.rows.length; index += step) {
    const row = trace.rows[index];
    if (row.blockers.length > 0 || (row.segment.endsWith('_wait') && row.ownedNs > 0)) return index;
  }
  return -1;
}

/** @returns index of the row with the longest blocked wait; without one, of the longest wait; -1 for none. */
export function longestWait(trace: TraceDetail): number {
  let best = -1;
  const weight = (index: number): number => {
    const row = trace.rows[index];
    if (row.blockers.length > 0) return 1e18 + row.ownedNs;
    return row.segment.endsWith('_wait') ? row.ownedNs : -1;
  };
  for (let index = 0; index < trace.rows.length; index++) {
    if (weight(index) > 0 && (best < 0 || weight(index) > weight(best))) best = index;
  }
  return best;
}
