import type { ResourceRow, ResourceWindow } from '../../aggregate/types.ts';
import type { Session } from '../session.ts';

/** @returns own limit over the present rate of requests, a ratio; null where either is unknown. Below 1 the queue grows. */
export function headroomOf(row: ResourceRow, at: ResourceWindow | null, requests: number): number | null {
  // One request has no rate.
  if (requests < 2 || row.saturatesAtPerSecond === null || !at || !row.visitsPerRequest) return null;
  const ratio = row.saturatesAtPerSecond / (at.arrivalsPerSecond / row.visitsPerRequest);
  return Number.isFinite(ratio) ? ratio : null;
}

/** @returns the queues with a known limit, the nearest to it first. */
export function nearestLimits(session: Session, most: number): ResourceRow[] {
  return session.report.resources
    .filter((row) => row.saturatesAtPerSecond !== null)
    .sort((a, b) => a.saturatesAtPerSecond! - b.saturatesAtPerSecond!)
    .slice(0, most);
}
