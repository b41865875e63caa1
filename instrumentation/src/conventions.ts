/**
 * What a Waitfall span says: attribute names, segment names, outcomes and naming rules.
 *
 * Names only: this module imports nothing and is the one thing the analyzer takes from this package
 * (inlined when the analyzer is built).
 */

/** Waits: time in which the request could not proceed because it stood in a queue. */
export const WAIT_SEGMENTS = [
  /** Waiting for an admission slot of the service. */
  'admission_wait',
  /** Ready to run, but the event loop was busy with something else. */
  'eventloop_wait',
  /** Waiting for a libuv worker thread. */
  'threadpool_wait',
  /** Waiting for a free slot of a connection pool or agent. */
  'pool_wait',
  /** Establishing a new connection: DNS, TCP, TLS, authentication. */
  'connection_wait',
  /** Waiting for a row, table or advisory lock. */
  'lock_wait',
  /** The whole process stood still: garbage collection, CPU throttling. */
  'runtime_pause',
  /** Planned arrival to actual send; written by load generators only. */
  'generator_wait',
] as const;

/** Service: time in which somebody worked for the request. */
export const SERVICE_SEGMENTS = ['work', 'downstream', 'network', 'messaging'] as const;

/** Every segment that can own time in a partition, in the order reports list them. */
export const SEGMENTS = [...WAIT_SEGMENTS, ...SERVICE_SEGMENTS, 'unaccounted'] as const;

/** An annotation, never part of a partition: how long a resource was held. */
export const HOLD_SEGMENT = 'hold';

export type WaitSegment = (typeof WAIT_SEGMENTS)[number];
export type Segment = (typeof SEGMENTS)[number];

/** How an attempt to get a resource ended. */
export const OUTCOMES = ['acquired', 'rejected', 'timeout', 'aborted'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Attribute `waitfall.segment`: one of {@link SEGMENTS} or {@link HOLD_SEGMENT}. */
export const ATTR_SEGMENT = 'waitfall.segment';
/** Attribute `waitfall.resource`: bare name of the queue, no instance in it (`pg-pool:signup`). */
export const ATTR_RESOURCE = 'waitfall.resource';
/** Attribute: servers of that queue in this process. */
export const ATTR_RESOURCE_CAPACITY = 'waitfall.resource.capacity';
/** Attribute: servers busy when the waiter was enqueued. */
export const ATTR_RESOURCE_IN_USE = 'waitfall.resource.in_use';
/** Attribute: waiters ahead when the waiter was enqueued. */
export const ATTR_RESOURCE_QUEUE_DEPTH = 'waitfall.resource.queue_depth';
/** Attribute `waitfall.outcome`: one of {@link OUTCOMES}. */
export const ATTR_OUTCOME = 'waitfall.outcome';
/** Attribute, ns, on the wait span that took the resource: from the end of this span to the release. */
export const ATTR_HOLD_DURATION_NS = 'waitfall.hold.duration_ns';
/** Attribute: who asked for what was held long, `function (file:line:column)`; of a small share of the acquires. */
export const ATTR_HOLD_CALL_SITE = 'waitfall.hold.call_site';
/** Attribute: keyed hash of relation and key value; never the value itself. */
export const ATTR_LOCK_KEY = 'waitfall.lock.key';
/** Attribute, boolean: the interval was inferred, not observed. */
export const ATTR_ESTIMATED = 'waitfall.estimated';
/** Attribute, ns: the interval was at least this long. */
export const ATTR_ESTIMATE_MIN_NS = 'waitfall.estimate.min_ns';
/** Attribute, ns: the interval was at most this long. */
export const ATTR_ESTIMATE_MAX_NS = 'waitfall.estimate.max_ns';

/** Attributes on a `connection_wait`, ns: the parts of it that were told apart. */
export const ATTR_CONNECT_DNS_NS = 'waitfall.connect.dns_ns';
export const ATTR_CONNECT_TCP_NS = 'waitfall.connect.tcp_ns';
export const ATTR_CONNECT_TLS_NS = 'waitfall.connect.tls_ns';

/** Attribute on the CLIENT span of an `http`, `undici` or `fetch` call, ns: from when it was sent to the first bytes of its response. */
export const ATTR_FIRST_BYTE_NS = 'waitfall.http.first_byte_ns';

/** Attribute on a `runtime_pause`: `gc`, or `cpu_throttling`. */
export const ATTR_PAUSE_CAUSE = 'waitfall.pause.cause';
/** Attribute on a pause for garbage collection: `major`, `minor`, `incremental`, `weakcb`. */
export const ATTR_GC_KIND = 'v8js.gc.type';
/** Attribute on a `work` span: the functions that used the most CPU time in it, widest first, with their shares. */
export const ATTR_CPU_FUNCTIONS = 'waitfall.cpu.functions';

/**
 * Attribute on a statement and on its lock waits: what the server process was seen doing, most often first, with
 * the number of looks (`Lock:transactionid 12`). Only where the lock sampler runs.
 */
export const ATTR_DB_WAIT_EVENTS = 'waitfall.db.wait_events';

/** Attribute on a link that says what the link means; the only value so far is {@link LINK_BLOCKED_BY}. */
export const ATTR_LINK = 'waitfall.link';
/** Link from a `lock_wait` span to the span that held the lock. */
export const LINK_BLOCKED_BY = 'blocked_by';
/** Attribute on a link: how many holders this link stands for. */
export const ATTR_LINK_SAMPLES = 'waitfall.link.samples';
/** A `lock_wait` span carries at most this many `blocked_by` links. */
export const MAX_BLOCKED_BY_LINKS = 4;

/** Attribute on the waiter: operation and relation of the holder's statement. */
export const ATTR_BLOCKER_STATEMENT = 'waitfall.blocker.statement';
/** Attribute on the waiter: what the holder was doing (`active`, `idle in transaction`). */
export const ATTR_BLOCKER_STATE = 'waitfall.blocker.state';
/** Attribute on the waiter, ns: how long the holder had held when the waiter came. */
export const ATTR_BLOCKER_AGE_NS = 'waitfall.blocker.age_ns';

/** Root attribute: when the server process received the request, epoch ns as text. */
export const ATTR_SERVER_RECEIVED_UNIX_NANO = 'waitfall.server.received_unix_nano';
/** Root attribute: event-loop utilisation of the process while the request was open, 0..1. */
export const ATTR_EVENTLOOP_UTILIZATION = 'waitfall.eventloop.utilization';
/** Root attributes: waits too short for a span of their own, sum in ns and count. */
export const ATTR_DROPPED_NS = 'waitfall.dropped_ns';
export const ATTR_DROPPED_COUNT = 'waitfall.dropped_count';

/** @returns the root attribute that carries this process's sum of one segment, in ns. */
export function timeAttribute(segment: Segment): `waitfall.time.${Segment}_ns` {
  return `waitfall.time.${segment}_ns`;
}

/** @returns the span name of a wait: the pattern of open-telemetry/semantic-conventions#2395. */
export function waitSpanName(resource: string): string {
  return `wait_for ${resource}`;
}

/** Resource names with a fixed spelling. */
export const RESOURCE_HTTP_SERVER = 'http.server';
/** In front of the service: from a proxy that says when it took the request to the service's first callback. */
export const RESOURCE_HTTP_QUEUE = 'http.queue';
export const RESOURCE_EVENT_LOOP = 'eventloop';
export const RESOURCE_THREAD_POOL = 'threadpool';
/** The threads that name lookups may use: half of them. */
export const RESOURCE_THREAD_POOL_DNS = 'threadpool:dns';
/** What a thread of the pool waits for. */
export const RESOURCE_FILE_SYSTEM = 'filesystem';
export const RESOURCE_DNS = 'dns';
export const RESOURCE_GC = 'gc';
export const RESOURCE_CPU_QUOTA = 'cpu-quota';

/** Prefixes of resource names: what kind of queue it is can be read from the name alone. */
export const PREFIX_PG_POOL = 'pg-pool:';
export const PREFIX_PG_CLIENT = 'pg-client:';
export const PREFIX_CONNECT = 'connect:';
export const PREFIX_LOCK = 'lock:';
export const PREFIX_HTTP_AGENT = 'http-agent:';
export const PREFIX_UNDICI_POOL = 'undici-pool:';

/** Instrumentation scope of every span this package emits. */
export const SCOPE_NAME = '@waitfall/instrumentation';
