import { type Attributes, type Context, trace } from '@opentelemetry/api';
import { ATTR_HOLD_CALL_SITE, type Outcome, PREFIX_CONNECT } from '../conventions.ts';
import { activeContext } from '../core/active-context.ts';
import { now } from '../core/clock.ts';
import { withSpan } from '../core/context-node.ts';
import { countTime, emitSegment } from '../core/emit.ts';
import { Interval } from '../core/interval.ts';
import { type Linked, LinkedList } from '../core/linked-list.ts';
import { rootOf } from '../core/root.ts';
import { onShutdown } from '../core/shutdown.ts';
import { takePoolSpan } from '../core/started-span.ts';
import { warnOnce } from '../core/warn.ts';
import { enterWork, leaveWork } from '../core/work.ts';
import { type CallSite, sampledCallSite } from './call-site.ts';
import { connectionFailure } from './connection-failure.ts';
import { poolResource } from './pool-name.ts';
import type { PgClient, PgPool } from './types.ts';

/** What is known of one pool: its name, and everybody who waits for a slot of it now. */
interface PoolState {
  readonly resource: string;
  readonly waiting: LinkedList<PoolWait>;
  /** Moving mean of its holds. */
  meanHoldMs: number;
}

const states = new WeakMap<PgPool, PoolState>();

function stateOf(pool: PgPool): PoolState {
  let state = states.get(pool);
  if (state === undefined)
    states.set(pool, (state = { resource: poolResource(pool), waiting: new LinkedList(), meanHoldMs: 0 }));
  return state;
}

/** Who holds a slot now. Bounded by the pools' sizes. */
const holding = new LinkedList<PoolWait>();
const kHold = Symbol('waitfall.hold');

interface HoldingClient extends PgClient {
  [kHold]?: PoolWait | undefined;
}

onShutdown(() => {
  for (const wait of holding.items()) wait.release();
});

/** @returns how many slots are held now: 0 when a service is idle and nothing leaked. */
export function openHolds(): number {
  return holding.size;
}

/** @returns open holds by pool, and how long the oldest of each has lasted. */
export function openHoldsByPool(): Map<string, { count: number; oldestMs: number }> {
  const byPool = new Map<string, { count: number; oldestMs: number }>();
  const atMs = now();
  for (const wait of holding.items()) {
    const known = byPool.get(wait.resource) ?? { count: 0, oldestMs: 0 };
    known.count++;
    known.oldestMs = Math.max(known.oldestMs, atMs - wait.takenMs);
    byPool.set(wait.resource, known);
  }
  return byPool;
}

/** Of holds at least this long it is worth knowing who asked: most likely not only statements ran in them. */
const LONG_HOLD_MS = 20;

let holdWarnMs = 60_000;
let watchdog: NodeJS.Timeout | undefined;

/** A slot held longer than this is said once, with its trace: mostly a `release` that was forgotten. 0: never. */
export function setHoldWarnMs(ms: number): void {
  holdWarnMs = ms;
  clearTimeout(watchdog);
  watchdog = undefined;
  if (holding.size > 0) watchHolds();
}

/** Looks from time to time while slots are held; keeps neither the process nor the loop alive. */
function watchHolds(): void {
  if (watchdog !== undefined || holdWarnMs <= 0) return;
  watchdog = setTimeout(() => {
    watchdog = undefined;
    for (const wait of holding.items()) wait.warnIfHeld(now() - holdWarnMs);
    if (holding.size > 0) watchHolds();
  }, holdWarnMs / 2).unref();
}

/** One call of `pool.connect`, from the call to the release of the slot. */
export class PoolWait implements Linked<PoolWait> {
  previous: PoolWait | undefined = undefined;
  next: PoolWait | undefined = undefined;
  isListed = false;
  /** Where the caller's callback continues. */
  readonly caller: Context = activeContext();
  /** The official instrumentation is around ours, in a request: then it has bound the callback to its context. */
  readonly isBound: boolean;
  readonly #state: PoolState;
  readonly #capacity: number | undefined;
  readonly #inUse: number | undefined;
  readonly #queueDepth: number | undefined;
  readonly #startMs = now();
  /** Of a small share of the acquires: who asked. */
  readonly #callSite: CallSite | undefined;
  /** No slot was free at the call: the time until one is taken is a wait for it. */
  readonly #queued: boolean;
  /** Where the spans go: below the official `pg-pool.connect` span where there is one. */
  #parent = this.caller;
  #connectMs: number | undefined;
  #takenMs = 0;
  #settled = false;

  constructor(pool: PgPool) {
    leaveWork(rootOf(this.caller), this.caller, this.#startMs);
    this.#state = stateOf(pool);
    this.#callSite = sampledCallSite(this.#state.meanHoldMs > LONG_HOLD_MS / 2);
    const { totalCount: total, idleCount: idle } = pool;
    const max = pool.options?.max;
    const pending = pool._pendingQueue?.length;
    this.#capacity = max;
    if (total === undefined || idle === undefined || max === undefined || pending === undefined) {
      this.#queued = true;
    } else {
      // Idle clients are handed over in a later tick: those already in the queue will take them first.
      this.#inUse = Math.min(max, total - idle + pending);
      this.#queueDepth = Math.max(0, pending - idle - (max - total));
      this.#queued = pending >= idle + (max - total);
    }
    this.isBound =
      (takePoolSpan() as { parentSpanContext?: object } | undefined)?.parentSpanContext !== undefined;
    this.#state.waiting.add(this);
  }

  get resource(): string {
    return this.#state.resource;
  }

  get takenMs(): number {
    return this.#takenMs;
  }

  /** Called when the pool's own `connect` has returned: a span that started within it is the official one. */
  called(): void {
    const official = takePoolSpan();
    if (official !== undefined) this.#parent = withSpan(this.caller, official);
  }

  /** A new connection is opened for this waiter: from here on it holds the slot. */
  connecting(): void {
    this.#connectMs ??= now();
  }

  /** The pool called back. Only the first call counts: a late one after a timeout changes nothing. */
  settle(error: Error | undefined, client: PgClient | undefined): void {
    if (!this.#leave()) return;
    const atMs = now();
    enterWork(rootOf(this.caller), atMs);
    if (error !== undefined && error !== null) {
      this.#failed(error, atMs);
      return;
    }
    this.#takenMs = this.#connectMs ?? atMs;
    if (this.#queued) countTime(this.#parent, 'pool_wait', this.#startMs, this.#takenMs);
    if (this.#connectMs !== undefined) this.#emitConnection(atMs, 'acquired');
    if (client === undefined) return;
    (client as HoldingClient)[kHold] = this;
    holding.add(this);
    watchHolds();
  }

  /** The pool ends and will never serve this waiter. */
  abort(): void {
    if (this.#connectMs !== undefined || !this.#leave()) return;
    this.#emitPool(now(), 'aborted');
  }

  /** The slot was given back. */
  release(): void {
    if (!holding.delete(this)) return;
    const holdMs = now() - this.#takenMs;
    this.#state.meanHoldMs += (holdMs - this.#state.meanHoldMs) * 0.1;
    this.#emitPool(this.#takenMs, 'acquired', holdMs);
  }

  warnIfHeld(sinceMs: number): void {
    if (this.#takenMs > sinceMs) return;
    const traceId = trace.getSpanContext(this.#parent)?.traceId;
    const site = this.#callSite?.toString();
    warnOnce(
      `hold ${this.#state.resource}`,
      `a connection of ${this.#state.resource} is held for more than ${Math.round(holdWarnMs / 1e3)} s` +
        `${traceId === undefined ? '' : ` (trace ${traceId})`}` +
        `${site === undefined ? '' : `, acquired at ${site}`}: is its release missing on some path?`,
    );
  }

  #leave(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#state.waiting.delete(this);
    return true;
  }

  #failed(error: Error, atMs: number): void {
    const { outcome, errorType } = connectionFailure(error);
    if (this.#connectMs === undefined) {
      countTime(this.#parent, 'pool_wait', this.#startMs, atMs);
      this.#emitPool(atMs, outcome, undefined, errorType);
      return;
    }
    if (this.#queued) countTime(this.#parent, 'pool_wait', this.#startMs, this.#connectMs);
    this.#emitPool(this.#connectMs, 'acquired', atMs - this.#connectMs);
    this.#emitConnection(atMs, outcome, errorType);
  }

  #emitPool(endMs: number, outcome: Outcome, holdMs?: number, errorType?: string): void {
    // Found a free slot: what passed until it was handed over is the event loop's time, not the pool's.
    const startMs = this.#queued || outcome !== 'acquired' ? this.#startMs : endMs;
    const wait = new Interval('pool_wait', this.#state.resource, this.#parent, startMs, endMs);
    wait.outcome = outcome;
    wait.errorType = errorType;
    wait.capacity = this.#capacity;
    wait.inUse = this.#inUse;
    wait.queueDepth = this.#queueDepth;
    wait.holdMs = holdMs;
    wait.attributes = this.#callSiteOf(holdMs);
    emitSegment(wait);
  }

  #callSiteOf(holdMs: number | undefined): Attributes | undefined {
    if (this.#callSite === undefined || holdMs === undefined || holdMs < LONG_HOLD_MS) return undefined;
    const site = this.#callSite.toString();
    return site === undefined ? undefined : { [ATTR_HOLD_CALL_SITE]: site };
  }

  #emitConnection(endMs: number, outcome: Outcome, errorType?: string): void {
    const startMs = this.#connectMs ?? endMs;
    countTime(this.#parent, 'connection_wait', startMs, endMs);
    emitSegment({
      segment: 'connection_wait',
      resource: `${PREFIX_CONNECT}${this.#state.resource}`,
      parent: this.#parent,
      startMs,
      endMs,
      outcome,
      errorType,
    });
  }
}

/** Writes the hold of a client that goes back to its pool, or is removed from it. */
export function releaseSlot(client: PgClient): void {
  const wait = (client as HoldingClient)[kHold];
  if (wait === undefined) return;
  (client as HoldingClient)[kHold] = undefined;
  wait.release();
}

/** Closes the waits that a pool which has just been ended leaves hanging. */
export function abortWaiters(pool: PgPool): void {
  for (const wait of states.get(pool)?.waiting.items() ?? []) wait.abort();
}
