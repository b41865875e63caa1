import {
  PREFIX_CONNECT,
  PREFIX_HTTP_AGENT,
  PREFIX_LOCK,
  RESOURCE_EVENT_LOOP,
  RESOURCE_HTTP_SERVER,
  RESOURCE_THREAD_POOL,
} from '@waitfall/instrumentation/conventions';
import type { ResourceKind, SegmentName } from './types.ts';

const BY_SEGMENT: Partial<Record<SegmentName, ResourceKind>> = {
  admission_wait: 'admission',
  eventloop_wait: 'eventloop',
  threadpool_wait: 'threadpool',
  pool_wait: 'pool',
  connection_wait: 'connection',
  lock_wait: 'lock',
  downstream: 'downstream',
  network: 'downstream',
};

const BY_NAME: ReadonlyMap<string, ResourceKind> = new Map([
  [RESOURCE_HTTP_SERVER, 'admission'],
  [RESOURCE_EVENT_LOOP, 'eventloop'],
  [RESOURCE_THREAD_POOL, 'threadpool'],
]);

const BY_PREFIX: readonly (readonly [RegExp, ResourceKind])[] = [
  [new RegExp(`^${PREFIX_CONNECT}`), 'connection'],
  [new RegExp(`^${PREFIX_LOCK}`), 'lock'],
  [new RegExp(`^${PREFIX_HTTP_AGENT}`), 'pool'],
  [/^[\w.-]*pool(:|$)/, 'pool'],
];

/**
 * @returns which kind of queue a resource is: from the segment of a wait for it, else (holds have no wait segment) from
 * its name. null: no queue (work, pauses, messaging, unaccounted), or a name that does not tell.
 */
export function resourceKind(segment: SegmentName | 'hold', resource: string | null): ResourceKind | null {
  const kind = segment === 'hold' ? undefined : BY_SEGMENT[segment];
  if (kind !== undefined) return kind;
  if (resource === null || (segment !== 'hold' && segment !== 'work')) return null;
  return BY_NAME.get(resource) ?? BY_PREFIX.find(([prefix]) => prefix.test(resource))?.[1] ?? null;
}
