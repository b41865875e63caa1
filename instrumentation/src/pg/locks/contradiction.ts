import { isExclusive } from '../sql/plan.ts';
import type { LockHold } from './row.ts';
import type { DatabaseRows } from './rows.ts';

/** Confirmed only after this: the holder's error, or the end of its connection, may be on its way. */
const CHECK_MS = 5;

/**
 * Looks whether a row was granted to a second transaction before the first sent its COMMIT. That is impossible
 * for one row: the key then names none.
 */
export function checkContradiction(rows: DatabaseRows, hold: LockHold): void {
  if (!isExclusive(hold.mode) || hold.autocommit) return;
  let before: LockHold | undefined;
  let other: LockHold | undefined;
  for (const candidate of hold.row.holds) {
    if (candidate.owner === hold.owner || !isExclusive(candidate.mode)) continue;
    before = candidate;
    if (candidate.endSentMs === undefined && candidate.releasedMs === undefined) other = candidate;
  }
  if (other === undefined) {
    if (before !== undefined) rows.handedOver(hold.row);
    return;
  }
  const holder = other;
  setTimeout(() => {
    const ended = holder.endSentMs ?? holder.releasedMs;
    if (ended !== undefined && ended < hold.grantedMs + CHECK_MS) rows.handedOver(hold.row);
    else rows.contradict([holder, hold]);
  }, CHECK_MS).unref();
}
