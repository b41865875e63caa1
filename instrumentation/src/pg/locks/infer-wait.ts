import type { Attributes, Link } from '@opentelemetry/api';
import { conflicts, type LockMode } from '../sql/plan.ts';
import type { Timing } from '../sql/plan-cache.ts';
import type { LockHold, LockOwner, Row } from './row.ts';

/** What one statement saw of one row; all times monotonic ms. */
export interface Attempt {
  readonly sentMs: number;
  /** Reply, minus the time it may have lain in the event loop. */
  readonly answeredMs: number;
  readonly repliedMs: number;
  /** How long such statements take. */
  readonly timing: Timing;
  /** As {@link LockHold.autocommit}: the order of grants is not certain, there are only bounds. */
  readonly autocommit: boolean;
  /**
   * `granted`: it locked the row. `refused`: it ended in an error of waiting (timeout, deadlock,
   * serialisation). `nothing`: it ended without locking, which alone does not tell whether it waited.
   */
  readonly result: 'granted' | 'refused' | 'nothing';
  /** Holds of others that were not released when it was sent and conflict with it, by grant. */
  readonly inTheWay: readonly LockHold[];
  /** The wait somebody saw who asked the server; only where no hold of this process was in the way. */
  readonly seen?: InferredWait | null;
}

/** An inferred wait: the interval, its bounds, and who held the row. */
export interface InferredWait {
  readonly startMs: number;
  readonly endMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** The bounds are too far apart to call it measured, or the holder's order or identity is not certain. */
  readonly estimated: boolean;
  /** Holders of this process during the wait, the last one first. */
  readonly blockers: readonly LockHold[];
  /** What is known of holders outside this process. */
  readonly evidence?: { readonly attributes: Attributes; readonly links: Link[] };
}

/** A reply this much later than the last release of ours means another holder came between. */
const MIN_FOREIGN_GAP_MS = 3;
/** Of statements that take this long by themselves it shows whether they waited. */
const MIN_SLOW_MS = 5;
const MAX_UNCERTAINTY_SHARE = 0.2;
const MAX_UNCERTAINTY_MS = 1;

/** @returns the holds that can have stood in the way of a statement sent at `sentMs`, by grant. */
export function holdsInTheWay(row: Row, mode: LockMode, owner: LockOwner, sentMs: number): LockHold[] {
  return row.holds
    .filter(
      (hold) =>
        hold.owner !== owner &&
        conflicts(mode, hold.mode) &&
        (hold.releasedMs === undefined || hold.releasedMs > sentMs),
    )
    .sort((a, b) => a.grantedMs - b.grantedMs);
}

/** @returns the row whose next release must be awaited before the wait can be told, or undefined. */
export function undecidedRow(attempt: Attempt): Row | undefined {
  return attempt.inTheWay.find(
    (hold) =>
      hold.releasedMs === undefined && hold.endSentMs !== undefined && hold.endSentMs <= attempt.repliedMs,
  )?.row;
}

/** Whether a statement that ran while somebody held its row was longer for it; `unclear`: that does not show. */
export type Delay = 'delayed' | 'undelayed' | 'unclear';

/**
 * A slow statement may need its row only at its end: a query inside it comes first. Then it takes no longer than by
 * itself (the least: cold connections and foreign holders make others longer), whoever holds the row meanwhile.
 *
 * @param waitMs how long it waited if it wanted its row at once.
 */
export function delayOf({ timing, sentMs, answeredMs, result }: Attempt, waitMs: number): Delay {
  const { median: medianMs, least: leastMs } = timing.uncontended;
  if (result === 'refused' || medianMs === null || leastMs === null || leastMs < MIN_SLOW_MS)
    return 'delayed';
  const noiseMs = 1 + 2 * (medianMs - leastMs);
  if (waitMs >= 2 * noiseMs) return answeredMs - sentMs - leastMs < waitMs / 2 ? 'undelayed' : 'delayed';
  return timing.takesRowLast ? 'undelayed' : 'unclear';
}

/**
 * Infers how long a statement waited for its row from what this process knows of the row's holders. For the
 * next in line a hold ends between the COMMIT that was sent and its reply, and not after its own reply.
 * Without a holder of ours nothing is claimed: a slow statement proves no lock.
 */
export function inferWait(attempt: Attempt): InferredWait | null {
  const { sentMs, answeredMs, repliedMs, result } = attempt;
  const chain = attempt.inTheWay.filter((hold) => {
    if (hold.contradicted) return false;
    // Answered while the holder had not begun to commit: only a refused statement can have stood behind it.
    return result === 'refused' || (hold.endSentMs !== undefined && hold.endSentMs <= repliedMs);
  });
  const last = latestReleased(chain);
  if (last === undefined) return null;
  const endSentMs = Math.min(last.endSentMs ?? repliedMs, repliedMs);
  const releasedMs = Math.min(last.releasedMs ?? answeredMs, repliedMs);
  const endRepliedMs = last.releasedMs === undefined ? repliedMs : last.endRepliedMs;
  if (delayOf(attempt, releasedMs - sentMs) === 'undelayed') {
    attempt.timing.takesRowLast = true;
    return null;
  }
  const gapMs = answeredMs - releasedMs;
  const correctionMs = Math.max(repliedMs - answeredMs, endRepliedMs - releasedMs);
  const late = result === 'granted' && gapMs > Math.max(MIN_FOREIGN_GAP_MS, correctionMs);
  // How long such a statement takes by itself is not known yet: then a late reply proves no other holder.
  const ownMs = attempt.timing.uncontended.median;
  const foreign = late && ownMs !== null && gapMs > 3 * ownMs;
  const endMs = foreign
    ? Math.max(releasedMs, answeredMs - ownMs)
    : Math.max(endSentMs, Math.min(releasedMs, answeredMs));
  if (endMs <= sentMs) return null;
  const minMs = Math.max(0, endSentMs - sentMs);
  const maxMs =
    (foreign || (late && ownMs === null) ? repliedMs : Math.min(endRepliedMs, repliedMs)) - sentMs;
  const spreadMs = maxMs - minMs;
  const uncertain = spreadMs > MAX_UNCERTAINTY_SHARE * (endMs - sentMs) && spreadMs > MAX_UNCERTAINTY_MS;
  const ordered = !attempt.autocommit && !chain.some((hold) => hold.autocommit);
  return {
    startMs: sentMs,
    endMs,
    minMs,
    maxMs: Math.max(maxMs, endMs - sentMs),
    estimated: uncertain || foreign || !ordered,
    blockers: ordered ? blockersOf(chain, last, sentMs) : [],
  };
}

function latestReleased(holds: readonly LockHold[]): LockHold | undefined {
  let last: LockHold | undefined;
  let lastMs = 0;
  for (const hold of holds) {
    const releasedMs = hold.releasedMs ?? Number.POSITIVE_INFINITY;
    if (last !== undefined && releasedMs < lastMs) continue;
    last = hold;
    lastMs = releasedMs;
  }
  return last;
}

/** The last holder first, then back to the one that had the row when the statement was sent. */
function blockersOf(chain: readonly LockHold[], last: LockHold, sentMs: number): LockHold[] {
  const blockers = [last];
  if (last.grantedMs <= sentMs) return blockers;
  for (let at = chain.length - 1; at >= 0; at--) {
    const hold = chain[at];
    if (hold === last) continue;
    blockers.push(hold);
    if (hold.grantedMs <= sentMs) break;
  }
  return blockers;
}
