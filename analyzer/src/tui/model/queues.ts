import type { ResourceRow, ResourceWindow } from '../../aggregate/types.ts';
import type { Color } from '../line.ts';
import type { Session } from '../session.ts';
import type { UiState } from '../state.ts';

/** A resource as the screens list it. */
export interface Queue {
  readonly row: ResourceRow;
  /** Place in the verdict's chain, 1-based; 0 when it is not part of it. */
  readonly rank: number;
  /** Its numbers in the selected window; null when there is no window. */
  readonly at: ResourceWindow | null;
}

/** Sort orders of the list, in the order `s` walks through them. */
export const QUEUE_SORTS = ['own limit', 'utilization', 'mean wait', 'p99 wait', 'errors', 'name'] as const;

/** @returns the resources in the chosen order, unknown values last. */
export function listQueues(session: Session, state: UiState, sort: number, reverse: boolean): Queue[] {
  const { resources, verdict } = session.report;
  const queues = resources.map((row): Queue => {
    const rank = verdict.chain.findIndex((link) => link.resource === row.resource && link.kind === row.kind);
    return { row, rank: rank + 1, at: row.windows[state.step] ?? null };
  });
  const by = QUEUE_SORTS[sort % QUEUE_SORTS.length];
  const sign = reverse ? -1 : 1;
  return queues.sort((a, b) => {
    if (by === 'name') return sign * (a.row.resource < b.row.resource ? -1 : 1);
    const x = keyOf(a, by);
    const y = keyOf(b, by);
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    return sign * (x - y);
  });
}

/** Smaller comes first: limits count up, everything else counts down. */
function keyOf({ row, at }: Queue, by: (typeof QUEUE_SORTS)[number]): number | null {
  if (by === 'own limit') return row.saturatesAtPerSecond;
  const value =
    by === 'utilization'
      ? at?.utilization
      : by === 'mean wait'
        ? at?.meanWaitNs
        : by === 'p99 wait'
          ? at?.p99WaitNs
          : at
            ? at.rejected + at.timedOut
            : null;
  return value === null || value === undefined ? null : -value;
}

/** @returns the resource row a chain link or a name stands for. */
export function findResource(session: Session, resource: string): ResourceRow | undefined {
  return session.report.resources.find((row) => row.resource === resource);
}

/** From this utilisation on a queue is shown as full. */
const FULL = 0.95;
/** From this utilisation on it is shown as getting full. */
const BUSY = 0.7;

/** @returns the colour of a utilisation. */
export function loadColor(utilization: number | null): Color | undefined {
  if (utilization === null) return undefined;
  return utilization >= FULL ? 'bad' : utilization >= BUSY ? 'warn' : 'ok';
}

/** @returns the capacity as people read it: `10`, `4≈` when inferred, `?` when unknown. */
export function capacityText(row: ResourceRow): string {
  if (row.capacity === null) return '?';
  return `${row.capacity}${row.capacityFrom === 'inferred' ? '≈' : ''}`;
}
