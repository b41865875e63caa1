import { duration } from '../../report/units.ts';
import type { StripPart } from '../draw/strip.ts';
import type { TraceDetail } from '../session.ts';
import { segmentText } from './segments.ts';

/** @returns the trace's time by segment, largest first, as parts of one bar. */
export function stripParts(trace: TraceDetail): StripPart[] {
  const sums = new Map<StripPart['color'], number>();
  for (const row of trace.rows) {
    if (row.ownedNs > 0) sums.set(row.segment, (sums.get(row.segment) ?? 0) + row.ownedNs);
  }
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .map(([color, value]) => ({ color, value, label: `${segmentText(color as never)} ${duration(value)}` }));
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
