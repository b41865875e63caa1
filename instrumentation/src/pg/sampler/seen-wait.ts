/** One wait for a lock as polls saw it; all times monotonic ms. */
export interface SeenWait {
  /** The last look before it that saw the process not waiting; undefined when the first look saw it wait. */
  readonly notYetMs: number | undefined;
  /** When the server says the wait, as it was first seen, had begun. */
  readonly waitStartMs: number | undefined;
  readonly firstSeenMs: number;
  lastSeenMs: number;
  /** The first look after it that saw the process not waiting any more. */
  overMs: number | undefined;
}

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
 * @param uncontendedMs what the statement takes when nobody is in its way, 0 where that is not known.
 */
export function estimateWait(
  seen: SeenWait,
  sentMs: number,
  answeredMs: number,
  uncontendedMs: number,
): EstimatedWait {
  const seenFromMs = Math.min(seen.firstSeenMs, seen.waitStartMs ?? seen.firstSeenMs);
  const earliestMs = Math.max(sentMs, seen.notYetMs ?? sentMs);
  const latestMs = Math.max(seen.lastSeenMs, Math.min(answeredMs, seen.overMs ?? answeredMs));
  const endMs =
    seen.overMs === undefined
      ? Math.max(seen.lastSeenMs, answeredMs - uncontendedMs)
      : (seen.lastSeenMs + latestMs) / 2;
  const startMs = seen.notYetMs === undefined ? earliestMs : clamp(seenFromMs, earliestMs, seen.firstSeenMs);
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
