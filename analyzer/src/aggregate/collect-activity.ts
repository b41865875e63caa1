import {
  ATTR_CPU_FUNCTIONS,
  ATTR_EVENTLOOP_UTILIZATION,
  HOLD_SEGMENT,
  OUTCOMES,
  SEGMENTS,
  timeAttribute,
} from '@waitfall/instrumentation/conventions';
import { isWait } from '../classify/classify.ts';
import type { Classes, ResourceKind } from '../classify/types.ts';
import { AttributeReader } from '../model/attribute-reader.ts';
import { KIND } from '../model/span.ts';
import { compareSpanIds } from '../model/span-table.ts';
import type { Partition } from '../partition/types.ts';
import { type Forest, STATE } from '../tree/types.ts';
import type { Slice } from './activity.ts';
import { addCall, addCallWait, type CallWaits, entryOf, insideSameCall } from './calls.ts';
import { disjointSlices } from './disjoint-slices.ts';
import { AFTER_HOLDS, type Gathering } from './gathering.ts';
import type { ProcessRecords } from './process-records.ts';
import { noteCapacity, STEP } from './queue-index.ts';
import type { Requests } from './requests-types.ts';
import { numberOf, type QueueAttributes, queueAttributes } from './span-attributes.ts';
import type { SpanQueues } from './span-queues.ts';
import { collectHolds } from './stated-holds.ts';
import type { StatementReader } from './statement.ts';
import { addStatementHolds } from './statement-holds.ts';

/** Indexes into SEGMENTS. */
const GENERATOR_WAIT = SEGMENTS.indexOf('generator_wait');
const PAUSE = SEGMENTS.indexOf('runtime_pause');
const WORK = SEGMENTS.indexOf('work');
const DOWNSTREAM = SEGMENTS.indexOf('downstream');
/** Index into OUTCOMES. */
const REJECTED = OUTCOMES.indexOf('rejected');
const NETWORK = SEGMENTS.indexOf('network');

/** What has to be known of a whole input before a part of it can be read; where the table is the whole, it is found out. */
export interface KnownBefore {
  /** Services that state waits or work themselves. */
  readonly instrumented: ReadonlySet<string>;
  /** Statements are told apart by their whole texts. */
  readonly fewTexts: boolean;
  /** Kind of the queues that waits, work and calls name. */
  readonly kinds: ReadonlyMap<string, ResourceKind>;
}

/** What reads the spans of one part. */
export interface PartReaders {
  readonly queues: SpanQueues;
  readonly statements: StatementReader;
}

/**
 * Reads every wait, hold, work slice, pause and call of the requests, and what their spans say about the processes they
 * ran in; nothing is aggregated yet.
 *
 * @param gathering takes it, after what it has of other parts of the input
 */
export function collectActivity(
  forest: Forest,
  partition: Partition,
  classes: Classes,
  requests: Requests,
  gathering: Gathering,
  known: KnownBefore | null,
  { queues, statements }: PartReaders,
): Gathering {
  const { table } = forest;
  const { index, activity, processes, firstRow, firstRequest } = gathering;
  const attributes = queueAttributes(table);
  activity.brokenHolds += brokenHolds(forest, attributes);
  const requestOfTree = new Int32Array(forest.trees.length).fill(-1);
  for (let i = 0; i < requests.count; i++) requestOfTree[requests.tree[i]] = i;
  const waitTime = new Map<number, CallWaits>();
  const detached = detachedRows(forest);
  const instrumented = known?.instrumented ?? statingServices(forest, classes);
  const below = waitsBelow(forest, classes);

  const aboutProcess = processReader(forest, classes, processes, firstRequest);
  const calls: number[] = [];
  const work: Slice[] = [];
  const served = new Map<number, number>();
  for (let i = 0; i < requests.count; i++) {
    const originNs = requests.startNs[i];
    index.at(STEP.spans, firstRequest + i);
    waitTime.clear();
    served.clear();
    calls.length = 0;
    work.length = 0;
    const { first, count } = forest.trees[requests.tree[i]];
    const beside = detached.get(requests.tree[i]) ?? [];
    for (let at = 0; at < count + beside.length; at++) {
      const row = at < count ? forest.order[first + at] : beside[at - count];
      const segment = classes.segment[row];
      if (at < count) aboutProcess(row, i, originNs);
      if (segment === GENERATOR_WAIT) continue;
      const startNs = originNs + forest.start[row];
      // What the span itself says: a wait goes on for its queue after the request was given up.
      const endNs = originNs + forest.recordedEnd[row];
      if (segment === PAUSE || segment === WORK) {
        const { kind, queue, instance } = queues.of(row);
        // What a thread of the pool works is the hold of its wait.
        if (kind !== 'eventloop') continue;
        const slice = { queue: queue.index, instance, request: firstRequest + i, startNs, endNs };
        if (segment === WORK) work.push(slice);
        else {
          activity.pauses.push(slice);
          addCallWait(waitTime, forest, row);
        }
      } else if (isWait(segment)) {
        const inner = classes.inferred[row] === 1 ? below.get(row) : undefined;
        if (inner?.stated) continue;
        const { queue, instance } = queues.of(row);
        const inUse = numberOf(attributes.inUse, row);
        const depth = numberOf(attributes.depth, row);
        const outcome = Math.max(0, classes.waitOutcome[row] - 1);
        noteCapacity(queue, instance, numberOf(attributes.capacity, row), inUse, depth, outcome === REJECTED);
        activity.waits.push({
          queue: queue.index,
          instance,
          request: firstRequest + i,
          row: firstRow + row,
          startNs,
          endNs: inner ? Math.max(startNs, Math.min(endNs, originNs + inner.firstNs)) : endNs,
          outcome,
          inUse,
          depth,
        });
        addCallWait(waitTime, forest, row);
      } else if (segment === DOWNSTREAM && classes.resource[row] >= 0) {
        if (
          table.kind[row] === KIND.client ||
          (table.kind[row] === KIND.internal && attributes.segment.text(row) === 'downstream')
        ) {
          if (!insideSameCall(forest, classes, row)) calls.push(row);
        } else {
          const entry = entryOf(forest, row);
          served.set(entry, (served.get(entry) ?? 0) + partition.owned[row]);
        }
      }
    }
    for (const slice of disjointSlices(work)) activity.work.push(slice);
    for (const row of calls) {
      const inner = waitTime.get(row);
      addCall(gathering, queues.of(row).queue, forest, requests, i, row, statements, {
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
      const queue = index.of('downstream', service, service);
      index.instance(queue, '');
      // What a full service has not begun yet waits outside of its spans: in its sockets, in the caller's agent.
      const caller = forest.parent[row];
      const isCalled = caller >= 0 && classes.segment[caller] === NETWORK;
      const from = isCalled ? caller : row;
      addCall(gathering, queue, forest, requests, i, row, statements, {
        durationNs: ownNs + (isCalled ? partition.owned[caller] : 0),
        startNs: forest.start[from],
        endNs: forest.end[from],
      });
    }
  }
  collectHolds(gathering, queues, forest, classes, requests, requestOfTree, attributes, known?.kinds ?? null);
  gathering.startStep(AFTER_HOLDS);
  addStatementHolds(gathering, forest, attributes);
  return gathering;
}

/** Hold spans whose times are broken: they cannot be used. */
function brokenHolds({ state }: Forest, { segment }: QueueAttributes): number {
  let broken = 0;
  for (let row = 0; row < state.length; row++) {
    if (state[row] === STATE.quarantined && segment.text(row) === HOLD_SEGMENT) broken++;
  }
  return broken;
}

/** @returns what notes the work, the utilisation and the CPU profile that a row of a request states. */
function processReader(
  forest: Forest,
  classes: Classes,
  { work, open, profiles }: ProcessRecords,
  firstRequest: number,
): (row: number, request: number, originNs: number) => void {
  const { table } = forest;
  const stated = new AttributeReader(table, timeAttribute('work'));
  const utilization = new AttributeReader(table, ATTR_EVENTLOOP_UTILIZATION);
  const functions = new AttributeReader(table, ATTR_CPU_FUNCTIONS);
  return (row, i, originNs) => {
    const request = firstRequest + i;
    const resource = table.resource[row];
    if (stated.has(row)) {
      const ns = Number(stated.value(row));
      if (ns >= 0 && Number.isFinite(ns)) work.push({ request, resource, ns });
    }
    if (utilization.has(row)) {
      const share = Number(utilization.value(row));
      if (!Number.isNaN(share)) {
        open.push({
          request,
          resource,
          startNs: originNs + forest.start[row],
          endNs: originNs + forest.end[row],
          utilization: Math.min(1, Math.max(0, share)),
        });
      }
    }
    if (classes.segment[row] !== WORK) return;
    const list = functions.jsonId(row);
    if (list >= 0)
      profiles.push({ request, lengthNs: forest.recordedEnd[row] - forest.start[row], functions: list });
  };
}

/**
 * Rows by tree that ended after everything that could have waited for them: they own no time of the request, yet they
 * used pools, locks and servers on its behalf.
 */
function detachedRows(forest: Forest): ReadonlyMap<number, readonly number[]> {
  const rows = new Map<number, number[]>();
  for (let row = 0; row < forest.state.length; row++) {
    if (forest.state[row] !== STATE.detached || forest.treeOf[row] < 0) continue;
    const list = rows.get(forest.treeOf[row]);
    if (list) list.push(row);
    else rows.set(forest.treeOf[row], [row]);
  }
  // Whatever order the input had.
  const { start, table } = forest;
  for (const list of rows.values()) list.sort((a, b) => start[a] - start[b] || compareSpanIds(table, a, b));
  return rows;
}

/** Services of which some span states a wait or work. */
export function statingServices(forest: Forest, classes: Classes): Set<string> {
  const { table } = forest;
  const states = new Uint8Array(table.resources.length);
  for (let at = 0; at < forest.order.length; at++) {
    const row = forest.order[at];
    const segment = classes.segment[row];
    if (classes.inferred[row] || segment === GENERATOR_WAIT) continue;
    if (isWait(segment) || segment === WORK) states[table.resource[row]] = 1;
  }
  return new Set(
    table.resources.flatMap(({ service }, resource) => (states[resource] === 1 ? [service] : [])),
  );
}

/**
 * Waits directly below a wait that another instrumentation emits: a stated one says the same better; a connection that
 * was opened there ends the wait for the slot (`pg-pool.connect` minus its `pg.connect` child).
 */
function waitsBelow(forest: Forest, classes: Classes): Map<number, { stated: boolean; firstNs: number }> {
  const found = new Map<number, { stated: boolean; firstNs: number }>();
  for (let at = 0; at < forest.order.length; at++) {
    const row = forest.order[at];
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
