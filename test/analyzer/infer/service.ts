import {
  ATTR_HOLD_DURATION_NS,
  ATTR_LOCK_KEY,
  ATTR_OUTCOME,
  ATTR_RESOURCE,
  ATTR_RESOURCE_CAPACITY,
  ATTR_RESOURCE_IN_USE,
  ATTR_RESOURCE_QUEUE_DEPTH,
  ATTR_SEGMENT,
} from '@waitfall/instrumentation/conventions';
import type { AttributeValue } from '../../../analyzer/src/model/attributes.ts';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { KIND, STATUS } from '../../../analyzer/src/model/span.ts';
import { SpanTableBuilder } from '../../../analyzer/src/model/span-table.ts';

/** Epoch of every test run. */
export const EPOCH_NS = 1_800_000_000_000_000_000n;

export interface WaitOptions {
  readonly capacity?: number;
  readonly inUse?: number;
  readonly depth?: number;
  readonly outcome?: string;
  /** Held from the end of the wait, ms. */
  readonly heldMs?: number;
  readonly key?: string;
}

export interface RequestOptions {
  readonly route?: string;
  readonly failed?: boolean;
  readonly status?: number;
  readonly traceState?: string;
  readonly instance?: string;
  readonly service?: string;
  /** Span that called it, which is not in the export. */
  readonly caller?: string;
}

/** Writes exports by hand: times in ms from {@link EPOCH_NS}. */
export class Export {
  readonly #builder = new SpanTableBuilder();
  readonly #plans: { path: string; content: AttributeValue }[] = [];
  #ids = 0;

  /** Starts a request; its spans hang under the root unless a parent is given. */
  request(startMs: number, endMs: number, options: RequestOptions = {}): RequestWriter {
    const trace = (++this.#ids).toString(16).padStart(32, '0');
    const resourceOf = (service: string, instance: string) =>
      this.#builder.resource(
        new Map<string, AttributeValue>([
          ['service.name', service],
          ['service.instance.id', instance],
        ]),
      );
    const own = resourceOf(options.service ?? 'signup', options.instance ?? 'a');
    const scope = this.#builder.scope('test', '');
    const add = (
      parent: string,
      name: string,
      kind: number,
      fromMs: number,
      toMs: number,
      attributes: [string, AttributeValue][],
      failed = false,
      service?: string,
    ): string => {
      const spanId = (++this.#ids).toString(16).padStart(16, '0');
      this.#builder.add({
        traceId: trace,
        spanId,
        parentSpanId: parent,
        followsFrom: false,
        shared: false,
        name,
        kind,
        startUnixNano: EPOCH_NS + BigInt(Math.round(fromMs * 1e6)),
        endUnixNano: EPOCH_NS + BigInt(Math.round(toMs * 1e6)),
        statusCode: failed ? STATUS.error : STATUS.unset,
        statusMessage: '',
        traceState: parent === '' ? (options.traceState ?? '') : '',
        resource: service === undefined ? own : resourceOf(service, 'a'),
        scope,
        attributes: new Map(attributes),
        links: [],
        events: [],
      });
      return spanId;
    };
    const failed = options.failed ?? false;
    const root = add(
      options.caller ?? '',
      options.route ?? 'POST /signup',
      KIND.server,
      startMs,
      endMs,
      [['http.response.status_code', options.status ?? (failed ? 500 : 200)]],
      failed,
    );
    return new RequestWriter(root, add);
  }

  plan(content: AttributeValue): this {
    this.#plans.push({ path: 'load.json', content });
    return this;
  }

  input(): Input {
    return {
      table: this.#builder.build(),
      metrics: [],
      files: [],
      rejected: [],
      invalidIds: 0,
      skipped: { logs: 0, profiles: 0 },
      loadPlans: this.#plans,
    };
  }
}

type Add = (
  parent: string,
  name: string,
  kind: number,
  fromMs: number,
  toMs: number,
  attributes: [string, AttributeValue][],
  failed?: boolean,
  service?: string,
) => string;

export class RequestWriter {
  readonly root: string;
  readonly #add: Add;

  constructor(root: string, add: Add) {
    this.root = root;
    this.#add = add;
  }

  wait(
    segment: string,
    resource: string,
    fromMs: number,
    toMs: number,
    options: WaitOptions = {},
    parent = this.root,
  ): string {
    const attributes: [string, AttributeValue][] = [
      [ATTR_SEGMENT, segment],
      [ATTR_RESOURCE, resource],
    ];
    const set = (key: string, value: AttributeValue | undefined) => {
      if (value !== undefined) attributes.push([key, value]);
    };
    set(ATTR_RESOURCE_CAPACITY, options.capacity);
    set(ATTR_RESOURCE_IN_USE, options.inUse);
    set(ATTR_RESOURCE_QUEUE_DEPTH, options.depth);
    set(ATTR_OUTCOME, options.outcome ?? 'acquired');
    set(ATTR_HOLD_DURATION_NS, options.heldMs === undefined ? undefined : Math.round(options.heldMs * 1e6));
    set(ATTR_LOCK_KEY, options.key);
    return this.#add(parent, `wait_for ${resource}`, KIND.internal, fromMs, toMs, attributes);
  }

  /** A hold as a span of its own. */
  hold(resource: string, fromMs: number, toMs: number, capacity?: number): string {
    const attributes: [string, AttributeValue][] = [
      [ATTR_SEGMENT, 'hold'],
      [ATTR_RESOURCE, resource],
    ];
    if (capacity !== undefined) attributes.push([ATTR_RESOURCE_CAPACITY, capacity]);
    return this.#add(this.root, `hold ${resource}`, KIND.internal, fromMs, toMs, attributes);
  }

  work(
    fromMs: number,
    toMs: number,
    parent = this.root,
    attributes: [string, AttributeValue][] = [],
  ): string {
    return this.#add(parent, 'work', KIND.internal, fromMs, toMs, [[ATTR_SEGMENT, 'work'], ...attributes]);
  }

  call(
    name: string,
    server: string,
    fromMs: number,
    toMs: number,
    attributes: [string, AttributeValue][] = [],
    parent = this.root,
  ): string {
    return this.#add(parent, name, KIND.client, fromMs, toMs, [['server.address', server], ...attributes]);
  }

  /** What another service does of a call. */
  served(service: string, fromMs: number, toMs: number, parent: string): string {
    return this.#add(parent, 'GET /', KIND.server, fromMs, toMs, [], false, service);
  }

  /** Wait and work of another service's event loop. */
  loopOf(service: string, parent: string, fromMs: number, grantedMs: number, toMs: number): void {
    const of = (segment: string): [string, AttributeValue][] => [
      [ATTR_SEGMENT, segment],
      [ATTR_RESOURCE, 'eventloop'],
      [ATTR_RESOURCE_CAPACITY, 1],
    ];
    const { internal } = KIND;
    this.#add(
      parent,
      'wait_for eventloop',
      internal,
      fromMs,
      grantedMs,
      of('eventloop_wait'),
      false,
      service,
    );
    this.#add(parent, 'work', internal, grantedMs, toMs, of('work'), false, service);
  }

  span(name: string, fromMs: number, toMs: number, parent = this.root): string {
    return this.#add(parent, name, KIND.internal, fromMs, toMs, []);
  }
}

export interface Step {
  readonly perSecond: number;
  readonly seconds: number;
  readonly phase?: string;
}

/** Evenly spaced arrivals, ms, and the load plan that says so. */
export function steps(list: readonly Step[]): { arrivalsMs: number[]; plan: AttributeValue } {
  const arrivalsMs: number[] = [];
  const planned: AttributeValue[] = [];
  let at = 0;
  for (const { perSecond, seconds, phase } of list) {
    const n = Math.round(perSecond * seconds);
    for (let i = 0; i < n; i++) arrivalsMs.push(at + ((i + 0.5) * 1000) / perSecond);
    planned.push({
      startUnixNano: String(EPOCH_NS + BigInt(Math.round(at * 1e6))),
      endUnixNano: String(EPOCH_NS + BigInt(Math.round((at + seconds * 1000) * 1e6))),
      arrivalsPerSecond: perSecond,
      ...(phase === undefined ? {} : { phase }),
    });
    at += seconds * 1000;
  }
  return { arrivalsMs, plan: { steps: planned } };
}

export interface Nested {
  /** Before the lock is asked for, and while it is held, ms. */
  readonly beforeMs: number;
  readonly lockedMs: number;
  readonly poolSize: number;
  readonly slots: number;
  /** How long waits are stated to have been asked to hold; `stated` leaves capacities out when false. */
  readonly capacities?: boolean;
}

/**
 * A service of three nested queues, FIFO and exact: slots around a pool around one row lock. The lock saturates at
 * 1000 / lockedMs per second.
 */
export function nestedService(list: readonly Step[], shape: Nested, withPlan = true): Input {
  const out = new Export();
  const { arrivalsMs, plan } = steps(list);
  const poolFree: number[] = Array(shape.poolSize).fill(0);
  const slotFree: number[] = Array(shape.slots).fill(0);
  let lockFree = 0;
  const stated = (capacity: number) => (shape.capacities === false ? {} : { capacity });
  for (const [i, arrival] of arrivalsMs.entries()) {
    const slot = Math.max(arrival, slotFree[i % shape.slots]);
    const connection = Math.max(slot, poolFree[i % shape.poolSize]);
    const asked = connection + shape.beforeMs;
    const granted = Math.max(asked, lockFree);
    const done = granted + shape.lockedMs;
    lockFree = done;
    poolFree[i % shape.poolSize] = done;
    slotFree[i % shape.slots] = done;
    const request = out.request(arrival, done);
    const busy = (free: readonly number[], at: number) => free.filter((time) => time > at).length;
    request.wait('admission_wait', 'http.server', arrival, slot, {
      ...stated(shape.slots),
      heldMs: done - slot,
      inUse: slot > arrival ? shape.slots : Math.min(shape.slots, busy(slotFree, arrival)),
      depth: slot > arrival ? 1 : 0,
    });
    request.wait('pool_wait', 'pg-pool:signup', slot, connection, {
      ...stated(shape.poolSize),
      heldMs: done - connection,
      inUse: connection > slot ? shape.poolSize : 0,
      depth: connection > slot ? 1 : 0,
    });
    request.wait('lock_wait', 'lock:campaign', asked, granted, {
      ...stated(1),
      heldMs: done - granted,
      key: 'k1',
      inUse: granted > asked ? 1 : 0,
      depth: granted > asked ? 1 : 0,
    });
  }
  if (withPlan) out.plan(plan);
  return out.input();
}
