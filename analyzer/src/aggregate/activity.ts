import {
  ATTR_LOCK_KEY,
  ATTR_RESOURCE_CAPACITY,
  ATTR_RESOURCE_IN_USE,
  ATTR_RESOURCE_QUEUE_DEPTH,
  ATTR_SEGMENT,
  OUTCOMES,
  RESOURCE_EVENT_LOOP,
  SEGMENTS,
  WAIT_SEGMENTS,
} from '@waitfall/instrumentation/conventions';
import { isWait } from '../classify/classify.ts';
import { holdsOf } from '../classify/holds.ts';
import { resourceKind } from '../classify/resource-kind.ts';
import type { Classes, ResourceKind } from '../classify/types.ts';
import { KIND, STATUS } from '../model/span.ts';
import { attributeById, type SpanTable } from '../model/span-table.ts';
import type { Partition } from '../partition/types.ts';
import { type Forest, STATE } from '../tree/types.ts';
import { kindOfSegment } from './queue-kind.ts';
import type { Requests } from './requests-types.ts';
import { StatementReader } from './statement.ts';

/** A queue: one name in one service (pools, slots, event loop), or one name for everybody (row locks, servers). */
export interface Queue {
  readonly index: number;
  readonly name: string;
  readonly kind: ResourceKind;
  readonly scope: 'process' | 'shared';
  /** Service whose processes own it; of a shared one the service that used it first. */
  readonly service: string;
  /** Process by process, in order of appearance; one entry for shared queues. */
  readonly instances: string[];
  /** Largest stated capacity by instance; null where not stated. */
  readonly statedCapacity: (number | null)[];
  /** By instance: most servers seen busy, and most seen busy by somebody who had to queue. */
  readonly maxInUse: number[];
  readonly queuedInUse: number[];
  /** Holds of it were not stated but rebuilt from official spans. */
  holdsRebuilt: boolean;
}

/** Times in ns relative to the origin of the requests. `request` is an index into the requests. */
export interface Wait {
  readonly queue: number;
  readonly instance: number;
  readonly request: number;
  readonly row: number;
  readonly startNs: number;
  readonly endNs: number;
  /** Index into OUTCOMES; a wait without a stated outcome was acquired. */
  readonly outcome: number;
  readonly inUse: number | null;
  readonly depth: number | null;
}

export interface Hold {
  readonly queue: number;
  readonly instance: number;
  readonly request: number;
  /** Row that states it: the wait that took the resource, or the hold span. */
  readonly row: number;
  /** Row whose pieces say what happened while it was held. */
  readonly host: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly key: string | null;
}

/** A stretch in which the event loop of one process certainly ran for a request. */
export interface Slice {
  readonly queue: number;
  readonly instance: number;
  readonly request: number;
  readonly startNs: number;
  readonly endNs: number;
}

/** A request to a server that says nothing about its own queue. */
export interface Call {
  readonly queue: number;
  readonly request: number;
  readonly row: number;
  /** When it reached the server, as far as known: after the waits at its beginning. */
  readonly startNs: number;
  readonly endNs: number;
  /** Without waits inside it that are measured themselves. */
  readonly durationNs: number;
  /** Statement or method and route: calls of one operation cost the same at low load. */
  readonly operation: string;
  readonly failed: boolean;
}

export interface Activity {
  readonly queues: Queue[];
  readonly waits: Wait[];
  readonly holds: Hold[];
  readonly work: Slice[];
  readonly pauses: Slice[];
  readonly calls: Call[];
  /** Some span states `waitfall.segment`: the export is instrumented, nothing needs to be rebuilt. */
  readonly stated: boolean;
  /** Hold spans that could not be used because their times are broken. */
  readonly brokenHolds: number;
}

const WAITS = new Set<string>(WAIT_SEGMENTS);
const SHARED_KINDS = new Set<ResourceKind>(['lock', 'downstream']);
/** A hold that outlives its parent by less is a clock effect (JS clocks floor to whole ms). */
const COVER_TOLERANCE_NS = 1e6;

function keyOf(kind: ResourceKind, name: string, service: string): string {
  if (kind === 'lock' || kind === 'downstream') return `${kind}\0${name}`;
  return `${service}\0${name}`;
}

/** Finds or adds the queue of a name. */
export class QueueIndex {
  readonly queues: Queue[] = [];
  readonly #ids = new Map<string, number>();

  of(kind: ResourceKind, name: string, service: string): Queue {
    const key = keyOf(kind, name, service);
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = this.queues.length;
      this.#ids.set(key, id);
      this.queues.push({
        index: id,
        name,
        kind,
        scope: SHARED_KINDS.has(kind) ? 'shared' : 'process',
        service,
        instances: [],
        statedCapacity: [],
        maxInUse: [],
        queuedInUse: [],
        holdsRebuilt: false,
      });
    }
    return this.queues[id];
  }

  /** Index of a queue already known, -1 else. */
  find(kind: ResourceKind, name: string, service: string): number {
    return this.#ids.get(keyOf(kind, name, service)) ?? -1;
  }

  instance(queue: Queue, name: string): number {
    const own = queue.scope === 'shared' ? '' : name;
    let at = queue.instances.indexOf(own);
    if (at < 0) {
      at = queue.instances.push(own) - 1;
      queue.statedCapacity.push(null);
      queue.maxInUse.push(0);
      queue.queuedInUse.push(0);
    }
    return at;
  }
}

/** Reads every wait, hold, work slice, pause and call of the requests; nothing is aggregated yet. */
export function collectActivity(
  forest: Forest,
  partition: Partition,
  classes: Classes,
  requests: Requests,
): { activity: Activity; index: QueueIndex } {
  const { table } = forest;
  const index = new QueueIndex();
  const ids = attributeIds(table);
  const activity: {
    -readonly [K in keyof Activity]: Activity[K];
  } = {
    queues: index.queues,
    waits: [],
    holds: [],
    work: [],
    pauses: [],
    calls: [],
    stated: ids.segment >= 0,
    brokenHolds: 0,
  };
  const requestOfTree = new Int32Array(forest.trees.length).fill(-1);
  for (let i = 0; i < requests.count; i++) requestOfTree[requests.tree[i]] = i;
  const waitTime = new Map<number, CallWaits>();
  const detached = detachedRows(forest);
  const instrumented = statingServices(forest, classes);
  const statements = new StatementReader(table);
  const below = waitsBelow(forest, classes);

  for (let i = 0; i < requests.count; i++) {
    const originNs = requests.startNs[i];
    waitTime.clear();
    const served = new Map<number, number>();
    const calls: number[] = [];
    for (const row of rowsOf(forest, requests.tree[i], detached)) {
      const segment = SEGMENTS[classes.segment[row]];
      const { service, instance } = table.resources[table.resource[row]];
      const startNs = originNs + forest.start[row];
      // What the span itself says: a wait goes on for its queue after the request was given up.
      const endNs = originNs + forest.recordedEnd[row];
      if (segment === 'generator_wait') continue;
      if (segment === 'runtime_pause') {
        const queue = index.of('eventloop', RESOURCE_EVENT_LOOP, service);
        activity.pauses.push({
          queue: queue.index,
          instance: index.instance(queue, instance),
          request: i,
          startNs,
          endNs,
        });
        addCallWait(waitTime, forest, row);
      } else if (WAITS.has(segment)) {
        const inner = classes.inferred[row] === 1 ? below.get(row) : undefined;
        if (inner?.stated) continue;
        const kind = kindOfSegment(segment);
        const name =
          classes.resource[row] >= 0 ? classes.resources[classes.resource[row]] : defaultName(kind);
        const queue = index.of(kind, name, service);
        const at = index.instance(queue, instance);
        const inUse = numberOf(table, row, ids.inUse);
        const depth = numberOf(table, row, ids.depth);
        noteCapacity(queue, at, numberOf(table, row, ids.capacity), inUse, depth);
        activity.waits.push({
          queue: queue.index,
          instance: at,
          request: i,
          row,
          startNs,
          endNs: inner ? Math.max(startNs, Math.min(endNs, originNs + inner.firstNs)) : endNs,
          outcome: Math.max(0, classes.waitOutcome[row] - 1),
          inUse,
          depth,
        });
        addCallWait(waitTime, forest, row);
      } else if (segment === 'work') {
        const queue = index.of('eventloop', RESOURCE_EVENT_LOOP, service);
        activity.work.push({
          queue: queue.index,
          instance: index.instance(queue, instance),
          request: i,
          startNs,
          endNs,
        });
      } else if (segment === 'downstream' && classes.resource[row] >= 0) {
        if (
          table.kind[row] === KIND.client ||
          (table.kind[row] === KIND.internal && statesDownstream(table, row, ids.segment))
        ) {
          if (!insideSameCall(forest, classes, row)) calls.push(row);
        } else {
          const entry = entryOf(forest, row);
          served.set(entry, (served.get(entry) ?? 0) + partition.owned[row]);
        }
      }
    }
    for (const row of calls) {
      const inner = waitTime.get(row);
      const server = classes.resources[classes.resource[row]];
      addCall(activity, index, forest, server, requests, i, row, statements, {
        durationNs: forest.end[row] - forest.start[row] - (inner?.totalNs ?? 0),
        startNs: inner?.leadEndNs ?? forest.start[row],
        endNs: inner?.tailStartNs ?? forest.end[row],
      });
    }
    for (const [row, ownNs] of served) {
      // A service that states its own queues is no server of unknown capacity.
      if (instrumented.has(table.resources[table.resource[row]].service)) continue;
      // The entry itself may be a consumer or a call that names another server: what worked is its service.
      const { service } = table.resources[table.resource[row]];
      addCall(activity, index, forest, service, requests, i, row, statements, {
        durationNs: ownNs,
        startNs: forest.start[row],
        endNs: forest.end[row],
      });
    }
  }
  collectHolds(activity, index, forest, classes, requests, requestOfTree, ids);
  return { activity, index };
}

/**
 * Rows by tree that ended after everything that could have waited for them: they own no time of the request, yet they
 * used pools, locks and servers on its behalf.
 */
export function detachedRows(forest: Forest): ReadonlyMap<number, readonly number[]> {
  const rows = new Map<number, number[]>();
  for (let row = 0; row < forest.state.length; row++) {
    if (forest.state[row] !== STATE.detached || forest.treeOf[row] < 0) continue;
    const list = rows.get(forest.treeOf[row]);
    if (list) list.push(row);
    else rows.set(forest.treeOf[row], [row]);
  }
  return rows;
}

/** Services of which some span states a wait or work. */
function statingServices(forest: Forest, classes: Classes): Set<string> {
  const { table } = forest;
  const services = new Set<string>();
  for (const row of forest.order) {
    if (classes.inferred[row] || SEGMENTS[classes.segment[row]] === 'generator_wait') continue;
    if (isWait(classes.segment[row]) || SEGMENTS[classes.segment[row]] === 'work') {
      services.add(table.resources[table.resource[row]].service);
    }
  }
  return services;
}

/**
 * Waits directly below a wait that another instrumentation emits: a stated one says the same better; a connection that
 * was opened there ends the wait for the slot (`pg-pool.connect` minus its `pg.connect` child).
 */
function waitsBelow(forest: Forest, classes: Classes): Map<number, { stated: boolean; firstNs: number }> {
  const found = new Map<number, { stated: boolean; firstNs: number }>();
  for (const row of forest.order) {
    const parent = forest.parent[row];
    if (
      parent < 0 ||
      !classes.inferred[parent] ||
      !isWait(classes.segment[parent]) ||
      !isWait(classes.segment[row])
    )
      continue;
    const entry = found.get(parent) ?? { stated: false, firstNs: Number.POSITIVE_INFINITY };
    found.set(parent, entry);
    if (!classes.inferred[row]) entry.stated = true;
    entry.firstNs = Math.min(entry.firstNs, forest.start[row]);
  }
  return found;
}

function* rowsOf(
  forest: Forest,
  tree: number,
  detached: ReadonlyMap<number, readonly number[]>,
): Generator<number> {
  const { first, count } = forest.trees[tree];
  for (let o = first; o < first + count; o++) yield forest.order[o];
  yield* detached.get(tree) ?? [];
}

/** Holds stated on the waits that took the resource, and holds written as spans of their own. */
function collectHolds(
  activity: { holds: Hold[] },
  index: QueueIndex,
  forest: Forest,
  classes: Classes,
  requests: Requests,
  requestOfTree: Int32Array,
  ids: AttributeIds,
): void {
  const { table } = forest;
  const known = new Map<string, ResourceKind>();
  for (const { name, kind } of index.queues) if (!known.has(name)) known.set(name, kind);
  for (const hold of holdsOf(table, forest, classes)) {
    const request = hold.tree < 0 ? -1 : requestOfTree[hold.tree];
    if (request < 0) continue;
    const row = hold.waitRow >= 0 ? hold.waitRow : hold.holdRow;
    const kind =
      hold.waitRow >= 0
        ? kindOfSegment(SEGMENTS[classes.segment[row]])
        : (known.get(hold.resource) ?? resourceKind('hold', hold.resource) ?? 'pool');
    const { service, instance } = table.resources[table.resource[row]];
    const queue = index.of(kind, hold.resource, service);
    const at = index.instance(queue, instance);
    noteCapacity(queue, at, numberOf(table, row, ids.capacity), null, null);
    const originNs = requests.startNs[request];
    activity.holds.push({
      queue: queue.index,
      instance: at,
      request,
      row,
      host: hostOf(forest, hold.ownerRow, forest.trees[hold.tree].root, hold.end),
      startNs: originNs + hold.start,
      endNs: originNs + Math.max(hold.start, hold.end),
      key: textOf(table, row, ids.key),
    });
  }
}

interface CallWaits {
  totalNs: number;
  leadEndNs: number;
  tailStartNs: number;
}

/** A wait below a call is not the server's time; a lock wait comes before the server's work, a loop wait after it. */
function addCallWait(waits: Map<number, CallWaits>, forest: Forest, row: number): void {
  const parent = forest.parent[row];
  if (parent < 0 || forest.table.kind[parent] !== KIND.client) return;
  let entry = waits.get(parent);
  if (!entry) {
    entry = { totalNs: 0, leadEndNs: forest.start[parent], tailStartNs: forest.end[parent] };
    waits.set(parent, entry);
  }
  entry.totalNs += forest.end[row] - forest.start[row];
  const middle = (forest.start[parent] + forest.end[parent]) / 2;
  const atEnd = forest.end[row] >= forest.end[parent] && forest.start[row] > middle;
  if (atEnd) entry.tailStartNs = Math.min(entry.tailStartNs, forest.start[row]);
  else entry.leadEndNs = Math.max(entry.leadEndNs, forest.end[row]);
}

/** Verb and relation of a statement, else the span's name; the form of its text; and the route. */
function operationOf(table: SpanTable, row: number, route: number, statements: StatementReader): string {
  const statement = statements.of(row);
  const name = table.strings.text(table.name[row]);
  const what = statement?.relation ? `${statement.verb} ${statement.relation}` : name;
  return `${what}|${statements.form(row)}|${route}`;
}

function addCall(
  activity: { calls: Call[] },
  index: QueueIndex,
  forest: Forest,
  server: string,
  requests: Requests,
  request: number,
  row: number,
  statements: StatementReader,
  times: { durationNs: number; startNs: number; endNs: number },
): void {
  const { table } = forest;
  const queue = index.of('downstream', server, table.resources[table.resource[row]].service);
  index.instance(queue, '');
  const originNs = requests.startNs[request];
  activity.calls.push({
    queue: queue.index,
    request,
    row,
    startNs: originNs + times.startNs,
    endNs: originNs + Math.max(times.startNs, times.endNs),
    durationNs: Math.max(0, times.durationNs),
    operation: operationOf(table, row, requests.route[request], statements),
    failed: table.status[row] === STATUS.error,
  });
}

/** The nearest span from `from` upwards that lasts until the hold's end; else the root. */
function hostOf(forest: Forest, from: number, root: number, endNs: number): number {
  for (let row = from; row >= 0; row = forest.parent[row]) {
    if (forest.end[row] + COVER_TOLERANCE_NS >= endNs) return row;
  }
  return root;
}

function insideSameCall(forest: Forest, classes: Classes, row: number): boolean {
  const parent = forest.parent[row];
  return (
    parent >= 0 &&
    forest.table.kind[parent] === KIND.client &&
    classes.segment[parent] === classes.segment[row] &&
    classes.resource[parent] === classes.resource[row]
  );
}

/** Topmost row of the same service above: where the request entered that service. */
function entryOf(forest: Forest, row: number): number {
  const { table, parent } = forest;
  const { service } = table.resources[table.resource[row]];
  let entry = row;
  for (let up = parent[row]; up >= 0; up = parent[up]) {
    if (table.resources[table.resource[up]].service !== service) break;
    entry = up;
  }
  return entry;
}

function noteCapacity(
  queue: Queue,
  at: number,
  capacity: number | null,
  inUse: number | null,
  depth: number | null,
): void {
  if (capacity !== null && capacity > 0) {
    queue.statedCapacity[at] = Math.max(queue.statedCapacity[at] ?? 0, capacity);
  }
  if (inUse !== null) {
    queue.maxInUse[at] = Math.max(queue.maxInUse[at], inUse);
    if (depth !== null && depth > 0) queue.queuedInUse[at] = Math.max(queue.queuedInUse[at], inUse);
  }
}

function defaultName(kind: ResourceKind): string {
  return kind === 'eventloop' ? RESOURCE_EVENT_LOOP : kind === 'admission' ? 'http.server' : kind;
}

type AttributeIds = ReturnType<typeof attributeIds>;

function attributeIds(table: SpanTable) {
  const find = (key: string) => table.strings.find(key);
  return {
    segment: find(ATTR_SEGMENT),
    capacity: find(ATTR_RESOURCE_CAPACITY),
    inUse: find(ATTR_RESOURCE_IN_USE),
    depth: find(ATTR_RESOURCE_QUEUE_DEPTH),
    key: find(ATTR_LOCK_KEY),
  };
}

function statesDownstream(table: SpanTable, row: number, segmentId: number): boolean {
  return segmentId >= 0 && attributeById(table, row, segmentId) === 'downstream';
}

function numberOf(table: SpanTable, row: number, keyId: number): number | null {
  if (keyId < 0) return null;
  const value = attributeById(table, row, keyId);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string' && /^\d+$/.test(value)) return Number(value);
  return null;
}

function textOf(table: SpanTable, row: number, keyId: number): string | null {
  if (keyId < 0) return null;
  const value = attributeById(table, row, keyId);
  if (value === undefined || value === null || value === '') return null;
  return String(value);
}

/** Index of `acquired` in OUTCOMES. */
export const ACQUIRED = OUTCOMES.indexOf('acquired');
