import { type Context, context } from '@opentelemetry/api';
import { PREFIX_UNDICI_POOL } from '../conventions.ts';
import { now } from '../core/clock.ts';
import { wrapMethod } from '../core/patch.ts';
import { remoteResource } from './names.ts';
import type { SocketQueue } from './outbound-call.ts';
import type { OutboundSwitch } from './switch.ts';

/** What a dispatcher says about itself; the same in undici 5 to 8. */
interface Dispatcher {
  readonly stats?: { running?: number; pending?: number; queued?: number };
  pipelining?: number;
}

interface Options {
  origin?: string | URL;
}

/** One call of `dispatch`, until undici makes a request of it. */
export interface Dispatched {
  readonly caller: Context;
  readonly startMs: number;
  readonly queue: SocketQueue;
}

const waiting = new WeakMap<object, Dispatched>();
/** The call whose request is being made right now. */
let making: Dispatched | undefined;

/** @returns the `dispatch` that leads to the request just made, where one was seen. */
export function takeDispatched(): Dispatched | undefined {
  const dispatched = making;
  making = undefined;
  return dispatched;
}

/**
 * A pool keeps calls in a queue of its own before it makes requests of them, and only the making is published.
 *
 * @param undici the package's exports.
 */
export function patchUndici(
  undici: { Pool?: { prototype: object }; Client?: { prototype: object } },
  on: OutboundSwitch,
): void {
  // `BalancedPool` and `RoundRobinPool` have the same base.
  const pools = undici.Pool && Object.getPrototypeOf(undici.Pool.prototype);
  wrapMethod(pools, 'dispatch', (inner) => {
    return function dispatch(this: Dispatcher, options: Options, handler: object, ...rest: unknown[]) {
      if (on.outbound) note(this, connectionsOf(this), options, handler);
      return inner().call(this, options, handler, ...rest);
    };
  });
  wrapMethod(undici.Client?.prototype, 'dispatch', (inner) => {
    return function dispatch(this: Dispatcher, options: Options, handler: object, ...rest: unknown[]) {
      if (!on.outbound) return inner().call(this, options, handler, ...rest);
      making = waiting.get(handler) ?? note(this, this.pipelining, options, handler);
      try {
        const caller = making?.caller;
        // Older pools hand a queued call over in the context of the one that made room.
        return caller === undefined || caller === context.active()
          ? inner().call(this, options, handler, ...rest)
          : context.with(caller, inner(), this, options, handler, ...rest);
      } finally {
        // Taken: when the same handler comes again, for a redirect or another try, that is another call.
        if (making === undefined) waiting.delete(handler);
        making = undefined;
      }
    };
  });
}

function note(
  dispatcher: Dispatcher,
  capacity: number | undefined,
  options: Options,
  handler: object,
): Dispatched | undefined {
  try {
    const known = waiting.get(handler);
    if (known !== undefined) return known;
    const origin = new URL(String(options.origin ?? originOf(dispatcher)));
    const stats = capacity === undefined ? undefined : dispatcher.stats;
    const { running = 0, pending = 0, queued } = stats ?? {};
    // A pool counts its queue as pending too; the rest of that is with its clients already.
    const taken = running + (queued === undefined ? 0 : pending - queued);
    const dispatched: Dispatched = {
      caller: context.active(),
      startMs: now(),
      queue: {
        resource: undiciResource(origin),
        capacity,
        inUse: stats === undefined || capacity === undefined ? undefined : Math.min(capacity, taken),
        queueDepth: stats === undefined ? undefined : (queued ?? pending),
      },
    };
    waiting.set(handler, dispatched);
    return dispatched;
  } catch {
    return undefined;
  }
}

/** @returns the queue of a host's sockets. */
export function undiciResource(origin: URL): string {
  const port = origin.port || (origin.protocol === 'https:' ? '443' : '80');
  return remoteResource(PREFIX_UNDICI_POOL, origin.hostname, port);
}

/** The limit of a pool; it is kept under a symbol. Undefined: none, then nobody queues. */
function connectionsOf(pool: object): number | undefined {
  const value = bySymbol(pool, 'connections');
  return typeof value === 'number' && value > 0 ? value : undefined;
}

function originOf(dispatcher: object): unknown {
  const url = bySymbol(dispatcher, 'url');
  return url instanceof URL ? url.origin : undefined;
}

function bySymbol(object: object, description: string): unknown {
  const key = Object.getOwnPropertySymbols(object).find((symbol) => symbol.description === description);
  return key === undefined ? undefined : (object as Record<symbol, unknown>)[key];
}
