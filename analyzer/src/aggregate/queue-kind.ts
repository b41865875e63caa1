import {
  PREFIX_CONNECT,
  PREFIX_LOCK,
  RESOURCE_EVENT_LOOP,
  RESOURCE_HTTP_SERVER,
  RESOURCE_THREAD_POOL,
} from '@waitfall/instrumentation/conventions';
import type { ResourceKind, SegmentName } from '../classify/types.ts';

const OF_SEGMENT: Partial<Record<SegmentName, ResourceKind>> = {
  admission_wait: 'admission',
  eventloop_wait: 'eventloop',
  runtime_pause: 'eventloop',
  threadpool_wait: 'threadpool',
  pool_wait: 'pool',
  connection_wait: 'connection',
  lock_wait: 'lock',
};

/** Kind of queue a wait stands in. */
export function kindOfSegment(segment: SegmentName): ResourceKind {
  return OF_SEGMENT[segment] ?? 'downstream';
}

/** Kind of a resource known only from its holds, by the naming rules of the conventions. */
export function kindOfName(name: string): ResourceKind {
  if (name.startsWith(PREFIX_LOCK)) return 'lock';
  if (name.startsWith(PREFIX_CONNECT)) return 'connection';
  if (name === RESOURCE_EVENT_LOOP) return 'eventloop';
  if (name === RESOURCE_THREAD_POOL) return 'threadpool';
  if (name === RESOURCE_HTTP_SERVER) return 'admission';
  return 'pool';
}

/**
 * Inner to outer: a request holds the outer ones while it waits for the inner ones. Orders chains and says which of
 * two queues is the inner one.
 */
export const DEPTH: Record<ResourceKind, number> = {
  eventloop: 0,
  threadpool: 0.2,
  downstream: 0.5,
  connection: 1,
  lock: 2,
  pool: 3,
  admission: 4,
};
