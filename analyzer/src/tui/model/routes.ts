import type { RequestGroup } from '../../aggregate/types.ts';
import type { Data } from '../data.ts';
import type { Session } from '../session.ts';
import type { Frame } from '../state.ts';

export const ROUTE_SORTS = ['total time', 'requests', 'p99', 'name'] as const;

/** @returns the routes, or the values of the attribute the view is split by, in the chosen order. */
export function listRoutes(
  session: Session,
  data: Data,
  frame: Frame,
): { name: string; group: RequestGroup }[] {
  const groups =
    frame.by === ''
      ? session.report.routes.map((route) => ({ name: route.route, group: route as RequestGroup }))
      : (data.split(frame.by) ?? []).map(({ value, group }) => ({ name: value, group }));
  const by = ROUTE_SORTS[frame.sort % ROUTE_SORTS.length];
  const sign = frame.reverse ? -1 : 1;
  const key = (group: RequestGroup): number =>
    by === 'requests'
      ? group.count
      : by === 'p99'
        ? (group.latencyNs.p99 ?? 0)
        : (group.latencyNs.mean ?? 0) * group.count;
  return groups.sort(
    (a, b) => sign * (by === 'name' ? (a.name < b.name ? -1 : 1) : key(b.group) - key(a.group)),
  );
}

/** @returns the resources that own most time over all routes, at most `limit`. */
export function resourceColumns(session: Session, limit: number): string[] {
  const totals = new Map<string, bigint>();
  for (const { resource, totalNs } of session.report.requests.segments) {
    if (resource) totals.set(resource, (totals.get(resource) ?? 0n) + totalNs);
  }
  return [...totals]
    .sort(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0))
    .slice(0, limit)
    .map(([name]) => name);
}

/** @returns seconds all windows together last; 0 without windows, and for a single request, which has no rate. */
export function loadSeconds(session: Session): number {
  const { windows, requests } = session.report;
  if (requests.count < 2) return 0;
  return (
    windows.reduce((sum, { startUnixNano, endUnixNano }) => sum + Number(endUnixNano - startUnixNano), 0) /
    1e9
  );
}
