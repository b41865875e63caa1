import { conflicts, type LockMode } from '../sql/plan.ts';
import type { LockHold, Row } from './hold.ts';

/** What one statement saw of one row; all times monotonic ms. */
export interface Attempt {
  readonly row: Row;
  readonly mode: LockMode;
  readonly owner: object;
  readonly sentMs: number;
  /** Reply, minus the time it may have lain in the event loop. */
  readonly answeredMs: number;
  readonly repliedMs: number;
  /** Typical time of this text without a holder. */
  readonly uncontendedMs: number;
  /** Nothing is known about the order of autocommit statements: bounds only. */
  readonly autocommit: boolean;
}

/** An inferred wait: the interval, its bounds, and who held the row. */
export interface InferredWait {
  readonly startMs: number;
  readonly endMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** The bounds are too far apart to call it measured, or somebody outside this process held the row last. */
  readonly estimated: boolean;
  /** Holders of this process during the wait, the last one first. Empty where their order is not certain. */
  readonly blockers: readonly LockHold[];
  /** After the last of them somebody held the row whom this process does not see. */
  readonly foreignHolder: boolean;
}

/** A reply this much later than the last release of ours means another holder came between. */
const MIN_FOREIGN_GAP_MS = 3;
const MAX_UNCERTAINTY_SHARE = 0.2;
const MAX_UNCERTAINTY_MS = 1;

/** @returns the holds that stood in the way of a statement, by grant. */
function holdsInTheWay(attempt: Attempt): LockHold[] {
  return attempt.row.holds
    .filter(
      (hold) =>
        hold.owner !== attempt.owner &&
        !hold.contradicted &&
        conflicts(attempt.mode, hold.mode) &&
        hold.grantedMs <= attempt.repliedMs &&
        (hold.releasedMs ?? Number.POSITIVE_INFINITY) > attempt.sentMs,
    )
    .sort((a, b) => a.grantedMs - b.grantedMs);
}

/** @returns the holder whose end must be known first, or undefined when the wait can be told now. */
export function undecided(attempt: Attempt, granted: boolean): LockHold | undefined {
  if (!granted)
    return holdsInTheWay(attempt).find((h) => h.releasedMs === undefined && h.endSentMs !== undefined);
  return holdsInTheWay(attempt).find((hold) => hold.releasedMs === undefined);
}

/**
 * Infers how long a statement waited for its row, from what this process knows of the row's holders. A hold
 * ends, for the next in line, between the COMMIT that was sent and its reply; the statement itself was
 * answered after its grant. Without a holder of ours nothing is claimed: a slow statement proves no lock.
 *
 * @param got whether the statement got the row, ended without it in an error, or found nothing to lock.
 */
export function inferWait(attempt: Attempt, got: 'row' | 'error' | 'nothing'): InferredWait | null {
  const all = holdsInTheWay(attempt);
  // Answered while the holder had not even begun to commit: it did not stand behind that one.
  const chain =
    got === 'error'
      ? all
      : all.filter((hold) => hold.endSentMs !== undefined || hold.releasedMs !== undefined);
  const last = latestRelease(chain);
  if (last === undefined) return null;
  const { sentMs, answeredMs, repliedMs } = attempt;
  const endSentMs = last.endSentMs ?? answeredMs;
  const releasedMs = last.releasedMs ?? answeredMs;
  const gapMs = answeredMs - releasedMs;
  const correctionMs = Math.max(repliedMs - answeredMs, last.endRepliedMs - releasedMs);
  const foreignHolder =
    got === 'row' && gapMs > Math.max(MIN_FOREIGN_GAP_MS, 3 * attempt.uncontendedMs, correctionMs);
  const endMs = foreignHolder
    ? Math.max(releasedMs, answeredMs - attempt.uncontendedMs)
    : Math.max(endSentMs, Math.min(releasedMs, answeredMs));
  if (endMs <= sentMs) return null;
  const minMs = Math.max(0, Math.min(endSentMs, answeredMs) - sentMs);
  const maxMs = foreignHolder
    ? repliedMs - sentMs
    : Math.max(0, Math.min(Math.max(last.endRepliedMs, releasedMs), repliedMs) - sentMs);
  const spreadMs = maxMs - minMs;
  const uncertain = spreadMs > MAX_UNCERTAINTY_SHARE * (endMs - sentMs) && spreadMs > MAX_UNCERTAINTY_MS;
  const ordered = !attempt.autocommit && !chain.some((hold) => hold.autocommit);
  return {
    startMs: sentMs,
    endMs,
    minMs,
    maxMs,
    estimated: uncertain || foreignHolder || !ordered,
    blockers: ordered ? blockersOf(chain, last, sentMs) : [],
    foreignHolder,
  };
}

function latestRelease(holds: readonly LockHold[]): LockHold | undefined {
  let last: LockHold | undefined;
  for (const hold of holds) {
    const releasedMs = hold.releasedMs ?? Number.POSITIVE_INFINITY;
    if (last === undefined || releasedMs >= (last.releasedMs ?? Number.POSITIVE_INFINITY)) last = hold;
  }
  return last;
}

/** The last holder first, then back to the one that had the row when the statement was sent. */
function blockersOf(chain: readonly LockHold[], last: LockHold, sentMs: number): LockHold[] {
  const blockers = [last];
  for (let at = chain.length - 1; at >= 0; at--) {
    const hold = chain[at];
    if (hold === last) continue;
    blockers.push(hold);
    if (hold.grantedMs <= sentMs) break;
  }
  return blockers;
}
