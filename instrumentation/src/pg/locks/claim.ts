import type { LockClause } from '../sql/plan.ts';
import type { Blocker } from './emit-lock.ts';
import { holdsInTheWay } from './infer-wait.ts';
import type { LockHold, LockOwner, Row } from './row.ts';

/** One row that a running statement wants, and how it stood with the row when the statement was sent. */
export interface Claim {
  readonly row: Row;
  readonly lock: LockClause;
  readonly inUse: number;
  readonly queueDepth: number;
  readonly blocker: Blocker | undefined;
}

export function claimOf(row: Row, lock: LockClause, owner: LockOwner, atMs: number): Claim {
  const first = holdsInTheWay(row, lock.mode, owner, atMs).find((hold) => !hold.autocommit);
  return {
    row,
    lock,
    inUse: row.holds.some((hold) => hold.releasedMs === undefined && hold.owner !== owner) ? 1 : 0,
    queueDepth: row.inFlight,
    blocker: first && {
      statement: first.summary,
      state: first.owner.isActive ? 'active' : 'idle in transaction',
      ageMs: Math.max(0, atMs - first.grantedMs),
    },
  };
}

/**
 * @param blockers who had the row while a statement waited, the last one first.
 * @returns who had it at the statement's time `atMs`, where that was not known yet: their own statement was still running.
 */
export function runningBlocker(blockers: readonly LockHold[], atMs: number): Blocker | undefined {
  const first = blockers.at(-1);
  if (first === undefined || first.sentMs > atMs) return undefined;
  return { statement: first.summary, state: 'active', ageMs: atMs - first.sentMs };
}
