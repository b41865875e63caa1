import { resourceKind } from '../classify/resource-kind.ts';
import type { ResourceKind, SegmentName } from '../classify/types.ts';

/** Kind of queue a wait stands in; a pause stops the event loop. */
export function kindOfSegment(segment: SegmentName): ResourceKind {
  return segment === 'runtime_pause' ? 'eventloop' : (resourceKind(segment, null) ?? 'downstream');
}

/**
 * Inner to outer: a request holds the outer ones while it waits for the inner ones. Orders chains and says which of
 * two queues is the inner one.
 */
export const DEPTH: Readonly<Record<ResourceKind, number>> = {
  eventloop: 0,
  threadpool: 0.2,
  downstream: 0.5,
  connection: 1,
  lock: 2,
  pool: 3,
  admission: 4,
};
