import { eachHold, type Hold } from '../classify/holds.ts';
import { resourceKind } from '../classify/resource-kind.ts';
import type { Classes, ResourceKind } from '../classify/types.ts';
import { type Forest, STATE } from '../tree/types.ts';
import type { Gathering } from './gathering.ts';
import { noteCapacity, STEP } from './queue-index.ts';
import type { Requests } from './requests-types.ts';
import { numberOf, type QueueAttributes, textOf } from './span-attributes.ts';
import type { SpanQueue, SpanQueues } from './span-queues.ts';

/** A hold that outlives its parent by less is a clock effect (JS clocks floor to whole ms). */
const COVER_TOLERANCE_NS = 1e6;

/** Holds stated on the waits that took the resource, and holds written as spans of their own. */
export function collectHolds(
  gathering: Gathering,
  queues: SpanQueues,
  forest: Forest,
  classes: Classes,
  requests: Requests,
  requestOfTree: Int32Array,
  attributes: QueueAttributes,
  given: ReadonlyMap<string, ResourceKind> | null,
): void {
  const { table } = forest;
  const { activity, index, firstRow, firstRequest } = gathering;
  const known = given ?? index.kinds((request) => request);
  const queueOfSpan = (resource: string, row: number): SpanQueue => {
    gathering.namedByHolds.add(resource);
    const kind = known.get(resource) ?? resourceKind('hold', resource) ?? 'pool';
    const { service, instance } = table.resources[table.resource[row]];
    const queue = index.of(kind, resource, service);
    return { kind, queue, instance: index.instance(queue, instance) };
  };
  eachHold(table, forest, classes, (hold) => {
    const request = hold.tree < 0 ? -1 : requestOfTree[hold.tree];
    if (request < 0) return;
    const row = hold.waitRow >= 0 ? hold.waitRow : hold.holdRow;
    const step = stepOf(forest, hold);
    gathering.startStep(step);
    index.at(step, firstRequest + request);
    const { queue, instance: at } = hold.waitRow >= 0 ? queues.of(row) : queueOfSpan(hold.resource, row);
    noteCapacity(queue, at, numberOf(attributes.capacity, row), null, null);
    const originNs = requests.startNs[request];
    activity.holds.push({
      queue: queue.index,
      instance: at,
      request: firstRequest + request,
      row: firstRow + row,
      host: firstRow + hostOf(forest, hold.ownerRow, forest.trees[hold.tree].root, hold.end),
      startNs: originNs + hold.start,
      endNs: originNs + Math.max(hold.start, hold.end),
      key: textOf(attributes.key, row),
    });
  });
}

function stepOf({ state }: Forest, { waitRow }: Hold): number {
  if (waitRow < 0) return STEP.holdSpans;
  return state[waitRow] === STATE.detached ? STEP.detachedHolds : STEP.statedHolds;
}

/** The nearest span from `from` upwards that lasts until the hold's end; else the root. */
function hostOf(forest: Forest, from: number, root: number, endNs: number): number {
  for (let row = from; row >= 0; row = forest.parent[row]) {
    if (forest.end[row] + COVER_TOLERANCE_NS >= endNs) return row;
  }
  return root;
}
