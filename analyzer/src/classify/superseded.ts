import type { SpanTable } from '../model/span-table.ts';
import { type Forest, STATE } from '../tree/types.ts';

/**
 * Spans of another instrumentation whose wait is also measured by a span that states it.
 *
 * Two instrumentations of one pool describe one acquisition twice: `pg-pool.connect` and, below or beside it, the wait
 * with `waitfall.segment`. The stated one tells the wait from the hand-over after it; the other must not count as a second
 * arrival at a second queue. A span is superseded when a stated wait of the same segment and service hangs under it or
 * under its parent and overlaps it.
 *
 * @param known the segment a row's name is known for, -1 for none.
 * @param stated the wait segment a row states, -1 for none.
 */
export function supersededRows(
  table: SpanTable,
  forest: Forest,
  known: (row: number) => number,
  stated: (row: number) => number,
): Set<number> {
  const { parent, state, start, recordedEnd } = forest;
  const isPlaced = (row: number): boolean => state[row] === STATE.inTree || state[row] === STATE.detached;
  const keyOf = (segment: number, row: number): string =>
    `${segment} ${table.resources[table.resource[row]].service}`;
  const candidates: number[] = [];
  /** Stated waits below a candidate or below its parent, by segment and service. */
  const watched = new Map<number, Map<string, Intervals>>();
  for (let row = 0; row < table.length; row++) {
    if (!isPlaced(row) || known(row) < 0) continue;
    candidates.push(row);
    watched.set(row, new Map());
    if (parent[row] >= 0) watched.set(parent[row], new Map());
  }
  if (candidates.length === 0) return new Set();
  for (let row = 0; row < table.length; row++) {
    const below = watched.get(parent[row]);
    if (below === undefined || !isPlaced(row)) continue;
    const segment = stated(row);
    if (segment < 0) continue;
    const key = keyOf(segment, row);
    let intervals = below.get(key);
    if (intervals === undefined) below.set(key, (intervals = new Intervals()));
    intervals.add(start[row], recordedEnd[row]);
  }
  const isMeasured = (row: number): boolean => {
    const key = keyOf(known(row), row);
    return [row, parent[row]].some((above) =>
      watched.get(above)?.get(key)?.meets(start[row], recordedEnd[row]),
    );
  };
  return new Set(candidates.filter(isMeasured));
}

/** Closed intervals that can be asked for an overlap in O(log n), once all are added. */
class Intervals {
  readonly #all: { start: number; end: number }[] = [];
  #sorted = true;

  add(start: number, end: number): void {
    this.#all.push({ start, end });
    this.#sorted = false;
  }

  meets(start: number, end: number): boolean {
    if (!this.#sorted) this.#sort();
    let low = 0;
    let high = this.#all.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#all[middle].start <= end) low = middle + 1;
      else high = middle;
    }
    return low > 0 && this.#all[low - 1].end >= start;
  }

  /** By start; from then on `end` is the latest end so far. */
  #sort(): void {
    this.#all.sort((a, b) => a.start - b.start);
    for (let i = 1; i < this.#all.length; i++) {
      this.#all[i].end = Math.max(this.#all[i].end, this.#all[i - 1].end);
    }
    this.#sorted = true;
  }
}
