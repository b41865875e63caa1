/** One look at the server, monotonic ms: what it saw was so at some moment between the question and the answer. */
export interface Look {
  readonly sentMs: number;
  readonly repliedMs: number;
}

/** One wait for a lock as looks saw it; all times monotonic ms. */
export interface SeenWait {
  /** The last look before it saw the process not waiting, no sooner than this; undefined when the first look saw it wait. */
  readonly notYetMs: number | undefined;
  /** When the server says the wait, as it was first seen, had begun. */
  readonly waitStartMs: number | undefined;
  /** It had begun by then. */
  readonly firstSeenMs: number;
  /** It went on until then at least. */
  lastSeenMs: number;
  /** The first look after it saw the process not waiting any more, by then. */
  overMs: number | undefined;
}

/** A statement that needs less than this share of its time by itself waited for the rest. */
const MAX_OWN_SHARE = 0.1;

/** The likely interval of a wait, and how short and how long it can have been. */
export interface EstimatedWait {
  readonly startMs: number;
  readonly endMs: number;
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * Estimates a wait from what was seen of it.
 *
 * Its start is what the server says. On a row many want, though, a waiter begins to wait again each time the
 * holder changes, and the server knows only the last beginning: when it waited at the first look already, it has
 * waited since it was sent. Its end lies between the last look that saw it wait and what came next: a look that
 * did not, or the reply less what the statement takes by itself.
 *
 * A look that found it not waiting counts only where the statement may have been at work then: one that takes a
 * millisecond by itself and is still there after ten was between two waits.
 *
 * @param uncontendedMs what the statement takes when nobody is in its way, 0 where that is not known.
 */
export function estimateWait(
  seen: SeenWait,
  sentMs: number,
  answeredMs: number,
  uncontendedMs: number,
): EstimatedWait {
  const isQuick = uncontendedMs > 0 && uncontendedMs < MAX_OWN_SHARE * (answeredMs - sentMs);
  const notYetMs = isQuick ? undefined : seen.notYetMs;
  const overMs = isQuick ? undefined : seen.overMs;
  const seenFromMs = Math.min(seen.firstSeenMs, seen.waitStartMs ?? seen.firstSeenMs);
  const earliestMs = Math.max(sentMs, notYetMs ?? sentMs);
  const latestMs = Math.max(seen.lastSeenMs, Math.min(answeredMs, overMs ?? answeredMs));
  const endMs =
    overMs === undefined
      ? Math.max(seen.lastSeenMs, answeredMs - uncontendedMs)
      : (seen.lastSeenMs + latestMs) / 2;
  const startMs = notYetMs === undefined ? earliestMs : clamp(seenFromMs, earliestMs, seen.firstSeenMs);
  return {
    startMs,
    endMs: Math.max(startMs, Math.min(endMs, latestMs)),
    minMs: Math.max(0, seen.lastSeenMs - clamp(seenFromMs, earliestMs, seen.lastSeenMs)),
    maxMs: Math.max(0, latestMs - earliestMs),
  };
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}
