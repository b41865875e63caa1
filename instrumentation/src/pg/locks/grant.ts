import { type Attempt, delayOf, type InferredWait } from './infer-wait.ts';

/** When a row was taken, within the statement that asked for it. */
export interface Grant {
  readonly atMs: number;
  /** Hardly anybody has stood in front of such a statement yet: that it took its row first is likely, and no more. */
  readonly assumed: boolean;
}

/** What a statement does after its grant (triggers, foreign keys, indexes) matters from here on. */
const MIN_AFTER_GRANT_MS = 1;
/** What can be known of it without anybody waiting is said of much slower statements only. */
const MIN_ASSUMED_MS = 5;
/** A statement this many times slower than one that does nothing does not owe it to the server's load. */
const MIN_ASSUMED_RATIO = 5;

/**
 * Says when a statement got its row, and learns from it how long its like run on after that: what waited tells.
 *
 * @param wait what it waited for its row: it had it when the wait ended.
 * @param idleMs what a statement takes that does nothing, on this connection; null where that is not known.
 * @returns its grant: at the latest with its reply.
 */
export function grantOf(attempt: Attempt, wait: InferredWait | null, idleMs: number | null): Grant {
  const { sentMs, answeredMs, timing } = attempt;
  if (wait?.estimated === false && delayOf(attempt, wait.endMs - sentMs) === 'delayed')
    timing.afterGrant.add(Math.max(0, answeredMs - wait.endMs));
  // Holders of other processes may have come after the one it waited for: the shorter of these times are without them.
  const learnedMs = timing.afterGrant.lowerQuartile;
  const afterMs = timing.takesRowLast ? 0 : (learnedMs ?? assumedMs(timing.uncontended.least, idleMs));
  const latestMs = Math.max(answeredMs, wait?.endMs ?? 0);
  if (afterMs < MIN_AFTER_GRANT_MS) return { atMs: latestMs, assumed: false };
  return { atMs: Math.max(wait?.endMs ?? sentMs, answeredMs - afterMs), assumed: learnedMs === null };
}

/** A statement that names its row mostly finds it at once, locks it before any trigger runs, and is busy with the rest. */
function assumedMs(leastMs: number | null, idleMs: number | null): number {
  if (leastMs === null || idleMs === null || leastMs < MIN_ASSUMED_RATIO * idleMs) return 0;
  const afterMs = leastMs - idleMs;
  return afterMs < MIN_ASSUMED_MS ? 0 : afterMs;
}
