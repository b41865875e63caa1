import type { Hold, Wait } from '../aggregate/activity.ts';
import type { HoldList } from '../aggregate/hold-list.ts';
import type { QueueModel } from '../aggregate/queue-model.ts';
import { WAITED_NS } from '../aggregate/series.ts';
import { sortByKey } from '../model/ordering.ts';
import type { Facts } from './facts.ts';
import { duration, percent } from './numbers.ts';
import type { SpanRef } from './span-lookup.ts';
import type { Statement } from './types.ts';

/** A hold whose release grants a waiter ends when the wait does, give or take the clock. */
const HAND_OVER_NS = 2e6;
/** Waits looked at, longest first: enough for shares, few enough for any input. */
const LOOKED_AT = 2000;
const LISTED = 3;

/** A wait that somebody else's hold caused. */
export interface Blocked {
  readonly wait: Wait;
  readonly ref: SpanRef;
  /** null where nobody is known to have held the queue. */
  readonly blocker: SpanRef | null;
  /** What the holder was doing; empty where the wait does not say. */
  readonly statement: string;
}

/** Finds who held a queue while somebody waited: a `blocked_by` link, else the hold whose end let the waiter in. */
export function blockersOf(facts: Facts, model: QueueModel, waits: readonly Wait[]): Blocked[] {
  const holders = new Holders(facts.activity.holds, model);
  const details = facts.spans.details(waits.map((wait) => wait.row));
  const holderOf = waits.map((wait) => (details.get(wait.row)!.blockedBy ? null : holders.before(wait)));
  const held = facts.spans.details(holderOf.flatMap((hold) => (hold ? [hold.row] : [])));
  return waits.map((wait, i) => {
    const { ref, blockedBy, blockerStatement } = details.get(wait.row)!;
    const holder = holderOf[i];
    const blocker = blockedBy ?? (holder ? held.get(holder.row)!.ref : null);
    return { wait, ref, blocker, statement: blockerStatement };
  });
}

class Holders {
  readonly #holds: HoldList;
  /** Holds of the queue, the earliest to end first. */
  readonly #byEnd: Int32Array;

  constructor(holds: HoldList, model: QueueModel) {
    this.#holds = holds;
    this.#byEnd = indexesOf(holds, model.queue.index);
    sortByKey(this.#byEnd, holds.endNs);
  }

  before(wait: Wait): Hold | null {
    const { startNs, endNs, request, instance } = this.#holds;
    let low = 0;
    let high = this.#byEnd.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (endNs[this.#byEnd[middle]] <= wait.endNs + HAND_OVER_NS) low = middle + 1;
      else high = middle;
    }
    for (let i = low - 1; i >= 0 && endNs[this.#byEnd[i]] > wait.startNs; i--) {
      const hold = this.#byEnd[i];
      if (request[hold] !== wait.request && instance[hold] === wait.instance && startNs[hold] < wait.endNs)
        return this.#holds.at(hold);
    }
    return null;
  }
}

/** Waits on a queue in some windows, longest first. */
export function longestWaits(
  facts: Facts,
  model: QueueModel,
  windows: readonly number[],
  most: number,
): Wait[] {
  const chosen = new Set(windows);
  const { waits } = facts.activity;
  const own = indexesOf(waits, model.queue.index).filter((i) =>
    chosen.has(facts.requests.window[waits.request[i]]),
  );
  const shortness = new Float64Array(waits.length);
  for (let k = 0; k < own.length; k++) shortness[own[k]] = waits.startNs[own[k]] - waits.endNs[own[k]];
  sortByKey(own, shortness);
  return Array.from(own.subarray(0, most), (i) => waits.at(i));
}

/** @returns the indexes of the records of one queue. */
function indexesOf({ queue, length }: { queue: Int32Array; length: number }, wanted: number): Int32Array {
  let n = 0;
  const own = new Int32Array(length);
  for (let i = 0; i < length; i++) if (queue[i] === wanted) own[n++] = i;
  return own.slice(0, n);
}

/**
 * Who the waiters of a queue waited for: what the holder was doing where the wait says so, else its route; with the
 * single traces that made others wait longest.
 */
export function topBlockers(facts: Facts, model: QueueModel, windows: readonly number[]): Statement | null {
  const waits = longestWaits(facts, model, windows, LOOKED_AT).filter(
    (wait) => wait.endNs - wait.startNs > WAITED_NS,
  );
  const blocked = blockersOf(facts, model, waits);
  const routeOf = facts.spans.routes(new Set(blocked.flatMap(({ blocker }) => blocker?.traceId ?? [])));
  const groups = new Map<string, number>();
  const traces = new Map<string, { ns: number; ref: SpanRef; blocker: SpanRef }>();
  let total = 0;
  for (const { wait, ref, blocker, statement } of blocked) {
    if (!blocker) continue;
    const ns = wait.endNs - wait.startNs;
    const what = statement || (routeOf.get(blocker.traceId) ?? 'a trace not in the export');
    total += ns;
    groups.set(what, (groups.get(what) ?? 0) + ns);
    const entry = traces.get(blocker.traceId);
    if (entry) entry.ns += ns;
    else traces.set(blocker.traceId, { ns, ref, blocker });
  }
  if (total === 0) return null;
  const shares = [...groups].sort((a, b) => b[1] - a[1]).slice(0, LISTED);
  const worst = [...traces.values()].sort((a, b) => b.ns - a.ns).slice(0, LISTED);
  return {
    id: 'top-blockers',
    resource: model.label,
    text: `waiters of ${model.label} waited for: ${shares.map(([what, ns]) => `${what} ${percent(ns / total)}`).join(', ')}; one trace alone made others wait ${duration(worst[0].ns)}`,
    values: Object.fromEntries(shares.map(([what, ns]) => [what, ns / total])),
    traces: worst.map(({ ref, blocker }) => ({ ...ref, blocker })),
  };
}
