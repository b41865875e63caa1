import { ATTR_BLOCKER_STATEMENT, ATTR_LINK, LINK_BLOCKED_BY } from '@waitfall/instrumentation/conventions';
import type { Hold, Wait } from '../aggregate/activity.ts';
import type { HoldList } from '../aggregate/hold-list.ts';
import type { QueueModel } from '../aggregate/queue-model.ts';
import { WAITED_NS } from '../aggregate/series.ts';
import { sortByKey } from '../model/ordering.ts';
import { attribute, spanIdText } from '../model/span-table.ts';
import type { Facts } from './facts.ts';
import { duration, percent } from './numbers.ts';
import type { Statement } from './types.ts';

export interface SpanRef {
  readonly traceId: string;
  readonly spanId: string;
}

/** A hold whose release grants a waiter ends when the wait does, give or take the clock. */
const HAND_OVER_NS = 2e6;
/** Waits looked at, longest first: enough for shares, few enough for any input. */
const LOOKED_AT = 2000;
const LISTED = 3;

/** Finds who held a queue while somebody waited: a `blocked_by` link, else the hold whose end let the waiter in. */
export class Blockers {
  readonly #facts: Facts;
  readonly #holds: HoldList;
  /** Holds of the queue, the earliest to end first. */
  readonly #byEnd: Int32Array;

  constructor(facts: Facts, model: QueueModel) {
    this.#facts = facts;
    this.#holds = facts.activity.holds;
    this.#byEnd = indexesOf(this.#holds, model.queue.index);
    sortByKey(this.#byEnd, this.#holds.endNs);
  }

  of(wait: Wait): SpanRef | null {
    const links = this.#facts.forest.table.links.get(wait.row) ?? [];
    const link = links.find((one) => one.attributes.get(ATTR_LINK) === LINK_BLOCKED_BY);
    if (link) return { traceId: link.traceId, spanId: link.spanId };
    const holder = this.#holderBefore(wait);
    return holder ? refOf(this.#facts, holder.row) : null;
  }

  #holderBefore(wait: Wait): Hold | null {
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

export function refOf(facts: Facts, row: number): SpanRef {
  const { table } = facts.forest;
  return { traceId: table.traceIds[table.trace[row]], spanId: spanIdText(table, row) };
}

/**
 * Who the waiters of a queue waited for: what the holder was doing where the wait says so, else its route; with the
 * single traces that made others wait longest.
 */
export function topBlockers(facts: Facts, model: QueueModel, windows: readonly number[]): Statement | null {
  const blockers = new Blockers(facts, model);
  const routeOf = routesByTrace(facts);
  const groups = new Map<string, number>();
  const traces = new Map<string, { ns: number; wait: Wait; blocker: SpanRef }>();
  let total = 0;
  for (const wait of longestWaits(facts, model, windows, LOOKED_AT)) {
    const ns = wait.endNs - wait.startNs;
    if (ns <= WAITED_NS) break;
    const blocker = blockers.of(wait);
    if (!blocker) continue;
    const stated = attribute(facts.forest.table, wait.row, ATTR_BLOCKER_STATEMENT);
    const what =
      typeof stated === 'string' && stated !== ''
        ? stated
        : (routeOf.get(blocker.traceId) ?? 'a trace not in the export');
    total += ns;
    groups.set(what, (groups.get(what) ?? 0) + ns);
    const entry = traces.get(blocker.traceId);
    if (entry) entry.ns += ns;
    else traces.set(blocker.traceId, { ns, wait, blocker });
  }
  if (total === 0) return null;
  const shares = [...groups].sort((a, b) => b[1] - a[1]).slice(0, LISTED);
  const worst = [...traces.values()].sort((a, b) => b.ns - a.ns).slice(0, LISTED);
  return {
    id: 'top-blockers',
    resource: model.name,
    text: `waiters of ${model.name} waited for: ${shares.map(([what, ns]) => `${what} ${percent(ns / total)}`).join(', ')}; one trace alone made others wait ${duration(worst[0].ns)}`,
    values: Object.fromEntries(shares.map(([what, ns]) => [what, ns / total])),
    traces: worst.map(({ wait, blocker }) => ({ ...refOf(facts, wait.row), blocker })),
  };
}

function routesByTrace({ forest, requests }: Facts): Map<string, string> {
  const { table, trees } = forest;
  const routes = new Map<string, string>();
  for (let i = 0; i < requests.count; i++) {
    const { root } = trees[requests.tree[i]];
    routes.set(table.traceIds[table.trace[root]], requests.routes[requests.route[i]]);
  }
  return routes;
}
