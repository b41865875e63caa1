import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Below this many rows nobody misses the memory. */
const MANY_ROWS = 100_000;

let collect: (() => void) | null | undefined;

/**
 * Has what the steps so far have left behind collected at once: after 100,000 rows it is tens of megabytes of columns, of
 * which the collector takes no notice until its own heap is full. Costs some ten milliseconds.
 */
export function collectGarbage(rows: number): void {
  if (rows < MANY_ROWS) return;
  if (collect === undefined) collect = collector();
  collect?.();
}

/** The engine hands its collector only to contexts made after the flag was set; null where it does not at all. */
function collector(): (() => void) | null {
  try {
    setFlagsFromString('--expose-gc');
    return runInNewContext('gc') as () => void;
  } catch {
    return null;
  }
}
