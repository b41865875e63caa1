import { eachHold } from '../classify/holds.ts';
import { resourceKind } from '../classify/resource-kind.ts';
import type { Classes, ResourceKind } from '../classify/types.ts';
import type { Forest } from '../tree/types.ts';
import type { HoldList } from './hold-list.ts';
import { noteCapacity, type QueueIndex } from './queue-index.ts';
import type { Requests } from './requests-types.ts';
import { numberOf, type QueueAttributes, textOf } from './span-attributes.ts';
import type { SpanQueue, SpanQueues } from './span-queues.ts';

/** A hold that outlives its parent by less is a clock effect (JS clocks floor to whole ms). */
const COVER_TOLERANCE_NS = 1e6;

/** Holds stated on the waits that took the resource, and holds written as spans of their own. */
export function collectHolds(
  activity: { readonly holds: HoldList },
  index: QueueIndex,
  queues: SpanQueues,
  forest: Forest,
  classes: Classes,
  requests: Requests,
  requestOfTree: Int32Array,
  attributes: QueueAttributes,
): void {
  const { table } = forest;
  const known = new Map<string, ResourceKind>();
  for (const { name, kind } of index.queues) if (!known.has(name)) known.set(name, kind);
  const queueOfSpan = (resource: string, row: number): SpanQueue => {
    const kind = known.get(resource) ?? resourceKind('hold', resource) ?? 'pool';
    const { service, instance } = table.resources[table.resource[row]];
    const queue = index.of(kind, resource, service);
    return { queue, instance: index.instance(queue, instance) };
  };
  eachHold(table, forest, classes, (hold) => {
    const request = hold.tree < 0 ? -1 : requestOfTree[hold.tree];
    if (request < 0) return;
    const row = hold.waitRow >= 0 ? hold.waitRow : hold.holdRow;
    const { queue, instance: at } = hold.waitRow >= 0 ? queues.of(row) : queueOfSpan(hold.resource, row);
    noteCapacity(queue, at, numberOf(attributes.capacity, row), null, null);
    const originNs = requests.startNs[request];
    activity.holds.push({
      queue: queue.index,
      instance: at,
      request,
      row,
      host: hostOf(forest, hold.ownerRow, forest.trees[hold.tree].root, hold.end),
      startNs: originNs + hold.start,
      endNs: originNs + Math.max(hold.start, hold.end),
      key: textOf(attributes.key, row),
    });
  });
}

/** The nearest span from `from` upwards that lasts until the hold's end; else the root. */
function hostOf(forest: Forest, from: number, root: number, endNs: number): number {
  for (let row = from; row >= 0; row = forest.parent[row]) {
    if (forest.end[row] + COVER_TOLERANCE_NS >= endNs) return row;
  }
  return root;
}
