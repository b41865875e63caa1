import type { Forest } from '../../tree/types.ts';
import { ACQUIRED, type Activity } from '../activity.ts';
import type { Overlay } from '../host-pieces.ts';
import type { QueueIndex } from '../queue-index.ts';
import { topWindows } from '../queue-model.ts';
import type { Requests } from '../requests-types.ts';
import type { RebuiltHold } from './pools.ts';

/** A statement that locks rows waits for them when its excess at the top is this share of its cost … */
const OF_COST = 0.6;
/** … and this multiple of the excess of the other statements on that server, plus 0.3 ms. */
const OF_OTHERS = 3;
const LEAST_NS = 3e5;
/** A cost of fewer statements than this is chance. */
const LEAST_STATEMENTS = 5;
/** Shorter waits of single statements are their own scatter. */
const WAITED_NS = 2e5;

interface Locking {
  readonly row: number;
  readonly request: number;
  readonly server: number;
  /** Without the wait for the event loop at its end. */
  readonly durationNs: number;
  readonly locks: boolean;
  readonly relation: string;
  /** End of the transaction, ns relative to the root. */
  readonly releaseNs: number;
}

/**
 * Row locks from official spans: an UPDATE, DELETE or SELECT … FOR UPDATE in a transaction, whose time grows with load
 * much more than that of other statements on the same server, waited for its rows. Wait = time − median at low load of
 * those that came while nobody else held the relation, hold = from then to COMMIT. Keys are unknown.
 */
export function rebuildRowLocks(
  forest: Forest,
  requests: Requests,
  activity: { -readonly [K in keyof Activity]: Activity[K] },
  index: QueueIndex,
  holds: readonly RebuiltHold[],
  lows: readonly number[],
  rising: readonly number[],
  overlays: Map<number, Overlay[]>,
): void {
  const low = new Set(lows);
  const top = new Set(topWindows(rising));
  const statements = lockingStatements(forest, activity, holds);
  const byKey = Map.groupBy(
    statements.filter((s) => s.locks && s.relation !== ''),
    (s) => `${s.server}|${s.relation}`,
  );
  for (const members of byKey.values()) {
    const { relation, server } = members[0];
    const costNs =
      medianOf(uncontended(members, forest, requests), low, requests) ?? medianOf(members, low, requests);
    if (costNs === null) continue;
    const excess = meanExcess(members, top, requests, () => costNs);
    const others = statements.filter((s) => s.server === server && !s.locks);
    const costs = new Map<string, number | null>();
    const otherExcess = meanExcess(others, top, requests, (s) => {
      const key = s.relation;
      if (!costs.has(key))
        costs.set(
          key,
          medianOf(
            others.filter((o) => o.relation === key),
            low,
            requests,
          ),
        );
      return costs.get(key) ?? s.durationNs;
    });
    if (excess < OF_COST * costNs || excess < OF_OTHERS * Math.max(0, otherExcess) + LEAST_NS) continue;
    const queue = index.of(
      'lock',
      `lock:${relation}`,
      forest.table.resources[forest.table.resource[members[0].row]].service,
    );
    queue.holdsRebuilt = true;
    index.instance(queue, '');
    for (const one of members) {
      const originNs = requests.startNs[one.request];
      const waitNs = Math.max(0, one.durationNs - costNs);
      const startNs = forest.start[one.row];
      const grantNs = startNs + (waitNs > WAITED_NS ? waitNs : 0);
      activity.waits.push({
        queue: queue.index,
        instance: 0,
        request: one.request,
        row: one.row,
        startNs: originNs + startNs,
        endNs: originNs + grantNs,
        outcome: ACQUIRED,
        inUse: null,
        depth: null,
      });
      activity.holds.push({
        queue: queue.index,
        instance: 0,
        request: one.request,
        row: one.row,
        host: forest.parent[one.row],
        startNs: originNs + grantNs,
        endNs: originNs + Math.max(grantNs, one.releaseNs),
        key: null,
      });
      if (grantNs === startNs) continue;
      overlays.set(one.row, [{ start: startNs, end: grantNs, segment: 'lock_wait', queue: queue.index }]);
    }
    const waited = new Map(members.map((one) => [one.row, Math.max(0, one.durationNs - costNs)]));
    const { calls } = activity;
    for (let i = 0; i < calls.length; i++) {
      const waitNs = waited.get(calls.row[i]) ?? 0;
      if (waitNs <= WAITED_NS) continue;
      calls.startNs[i] += waitNs;
      calls.durationNs[i] -= waitNs;
    }
  }
}

function lockingStatements(forest: Forest, activity: Activity, holds: readonly RebuiltHold[]): Locking[] {
  const callOf = new Map(activity.calls.map((call) => [call.row, call]));
  return holds.flatMap(({ wait, statements }) =>
    statements.flatMap(({ row, statement }): Locking[] => {
      const call = callOf.get(row);
      if (call === undefined || /^(BEGIN|START|COMMIT|ROLLBACK)/.test(statement.verb)) return [];
      return [
        {
          row,
          request: wait.request,
          server: call.queue,
          durationNs: call.durationNs,
          locks: statement.locksRows,
          relation: statement.relation,
          releaseNs: forest.end[statements[statements.length - 1].row],
        },
      ];
    }),
  );
}

/** @returns those that began while no other transaction was between a locking statement and its end. */
function uncontended(members: readonly Locking[], forest: Forest, requests: Requests): Locking[] {
  const begun = ({ row, request }: Locking) => requests.startNs[request] + forest.start[row];
  const free: Locking[] = [];
  let heldUntilNs = Number.NEGATIVE_INFINITY;
  let holder = -1;
  let othersUntilNs = Number.NEGATIVE_INFINITY;
  for (const one of [...members].sort((a, b) => begun(a) - begun(b))) {
    const until = one.request === holder ? othersUntilNs : heldUntilNs;
    if (begun(one) >= until) free.push(one);
    const releaseNs = requests.startNs[one.request] + one.releaseNs;
    if (one.request === holder) heldUntilNs = Math.max(heldUntilNs, releaseNs);
    else if (releaseNs >= heldUntilNs) {
      othersUntilNs = heldUntilNs;
      heldUntilNs = releaseNs;
      holder = one.request;
    } else othersUntilNs = Math.max(othersUntilNs, releaseNs);
  }
  return free;
}

function medianOf(
  members: readonly Locking[],
  windows: ReadonlySet<number>,
  requests: Requests,
): number | null {
  const values = members.filter((s) => windows.has(requests.window[s.request])).map((s) => s.durationNs);
  if (values.length < LEAST_STATEMENTS) return null;
  values.sort((a, b) => a - b);
  return values[values.length >> 1];
}

function meanExcess(
  members: readonly Locking[],
  windows: ReadonlySet<number>,
  requests: Requests,
  cost: (one: Locking) => number,
): number {
  let ns = 0;
  let n = 0;
  for (const one of members) {
    if (!windows.has(requests.window[one.request])) continue;
    ns += one.durationNs - cost(one);
    n++;
  }
  return n > 0 ? ns / n : 0;
}
