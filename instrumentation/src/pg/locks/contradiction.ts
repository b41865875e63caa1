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
  const other = hold.row.holds.find(
    (candidate) =>
      candidate.owner !== hold.owner &&
      isExclusive(candidate.mode) &&
      candidate.endSentMs === undefined &&
      candidate.releasedMs === undefined,
  );
  if (other === undefined) return;
  setTimeout(() => {
    const ended = other.endSentMs ?? other.releasedMs;
    if (ended !== undefined && ended < hold.grantedMs + CHECK_MS) return;
    rows.contradict([other, hold]);
  }, CHECK_MS).unref();
}
