import { type Context, trace } from '@opentelemetry/api';
import { type Outcome, PREFIX_CONNECT } from '../conventions.ts';
import { activeContext } from '../core/active-context.ts';
import { now } from '../core/clock.ts';
import { countTime, emitSegment } from '../core/emit.ts';
import { rootOf } from '../core/root.ts';
import { onShutdown } from '../core/shutdown.ts';
import { warnOnce } from '../core/warn.ts';
import { enterWork, leaveWork } from '../core/work.ts';
import { outcomeOf } from './outcome.ts';

/**
 * What a waiter found when it came: `idle`, something free that is only handed over; `room`, a free slot with
 * nothing in it yet; `full`, every slot held or promised to those ahead.
 */
export type Found = 'idle' | 'room' | 'full';

/** A pool at the moment somebody asks it for something. */
export interface Arrival {
  readonly resource: string;
  readonly capacity: number | undefined;
  readonly inUse: number;
  readonly queueDepth: number;
  readonly found: Found;
}

/**
 * @returns what a waiter finds in a pool that hands over in a later tick: those who wait already get whatever
 * is not in use, whether it is idle, being created or still to be created.
 */
export function arrivalAt(
  resource: string,
  capacity: number,
  used: number,
  idle: number,
  waiting: number,
): Arrival {
  const found = waiting >= capacity - used ? 'full' : waiting < idle ? 'idle' : 'room';
  return {
    resource,
    capacity,
    inUse: Math.min(capacity, used + waiting),
    queueDepth: Math.max(0, waiting - (capacity - used)),
    found,
  };
}

/** Who holds something of a pool now. */
const holders = new WeakMap<object, Map<unknown, SlotWait>>();
const open = new Set<SlotWait>();

onShutdown(() => {
  for (const wait of [...open]) wait.released();
});

/** @returns how many slots of adapted pools are held now: 0 when a service is idle and nothing leaked. */
export function openSlots(): number {
  return open.size;
}

/** @returns how many slots of each adapted pool are held now, and since when the oldest is. */
export function openSlotsByPool(): Map<string, { count: number; oldestMs: number }> {
  const byPool = new Map<string, { count: number; oldestMs: number }>();
  const atMs = now();
  for (const wait of open) {
    const known = byPool.get(wait.resource) ?? { count: 0, oldestMs: 0 };
    known.count++;
    known.oldestMs = Math.max(known.oldestMs, atMs - wait.takenMs);
    byPool.set(wait.resource, known);
  }
  return byPool;
}

let warnAfterMs = 60_000;
let watchdog: NodeJS.Timeout | undefined;

/** A slot held longer than this is said once, with its trace; 0: never. */
export function setSlotWarnMs(ms: number): void {
  warnAfterMs = ms;
  clearTimeout(watchdog);
  watchdog = undefined;
  if (open.size > 0) watchSlots();
}

/** Looks from time to time while slots are held; keeps neither the process nor the loop alive. */
function watchSlots(): void {
  if (watchdog !== undefined || warnAfterMs <= 0) return;
  watchdog = setTimeout(() => {
    watchdog = undefined;
    for (const wait of open) if (now() - wait.takenMs > warnAfterMs) warnOfHold(wait);
    if (open.size > 0) watchSlots();
  }, warnAfterMs / 2).unref();
}

function warnOfHold({ resource, caller }: SlotWait): void {
  const traceId = trace.getSpanContext(caller)?.traceId;
  warnOnce(
    `hold ${resource}`,
    `a slot of ${resource} is held for more than ${Math.round(warnAfterMs / 1e3)} s` +
      `${traceId === undefined ? '' : ` (trace ${traceId})`}: is its release missing on some path?`,
  );
}

/** Writes the hold of something that goes back to its pool; nothing for what is not held. */
export function releaseSlot(pool: object, item: unknown): void {
  const held = holders.get(pool);
  const wait = held?.get(item);
  if (wait === undefined) return;
  held?.delete(item);
  wait.released();
}

/**
 * One request for something of a pool, from the call to the release. The slot counts as held from the moment
 * it is taken, before a new connection is established in it.
 */
export class SlotWait {
  /** Where the caller continues. */
  readonly caller: Context = activeContext();
  readonly #pool: object;
  readonly #arrival: Arrival;
  readonly #startMs = now();
  #bornMs: number | undefined;
  takenMs = 0;
  #settled = false;

  constructor(pool: object, arrival: Arrival) {
    this.#pool = pool;
    this.#arrival = arrival;
    leaveWork(rootOf(this.caller), this.caller, this.#startMs);
  }

  get resource(): string {
    return this.#arrival.resource;
  }

  get foundFull(): boolean {
    return this.#arrival.found === 'full';
  }

  /** Something new is made for this waiter from now on. */
  creating(): void {
    this.#bornMs ??= now();
  }

  /**
   * The waiter got something.
   *
   * @param bornMs when it was begun to be made, where nobody has used it before.
   * @param slotMs when it was picked for this waiter, where that is known to be earlier than now.
   */
  got(item: unknown, bornMs = this.#bornMs, slotMs?: number): void {
    if (this.#settled) return;
    this.#settled = true;
    const atMs = now();
    enterWork(rootOf(this.caller), atMs);
    const connectMs = this.#connectStartMs(bornMs, atMs);
    this.takenMs = connectMs ?? Math.max(this.#startMs, slotMs ?? atMs);
    if (this.#arrival.found === 'full') this.#count('pool_wait', this.#startMs, this.takenMs);
    if (connectMs !== undefined) this.#emitConnection(connectMs, atMs, 'acquired');
    this.#hold(item);
  }

  /** The waiter got an error. */
  failed(error: unknown): void {
    if (this.#settled) return;
    this.#settled = true;
    const atMs = now();
    enterWork(rootOf(this.caller), atMs);
    const { outcome, errorType } = outcomeOf(error);
    if (this.#arrival.found === 'full' && this.#bornMs === undefined) {
      this.#count('pool_wait', this.#startMs, atMs);
      this.#emitPool(this.#startMs, atMs, outcome, undefined, errorType);
      return;
    }
    // It had a slot, but nothing came into it.
    const connectMs = this.#arrival.found === 'full' ? (this.#bornMs ?? atMs) : this.#startMs;
    if (connectMs > this.#startMs) this.#count('pool_wait', this.#startMs, connectMs);
    this.#emitPool(this.#startMs, connectMs, 'acquired', atMs - connectMs);
    this.#emitConnection(connectMs, atMs, outcome, errorType);
  }

  /** What was held is given back, or the process ends. */
  released(): void {
    open.delete(this);
    const { found } = this.#arrival;
    this.#emitPool(
      found === 'full' ? this.#startMs : this.takenMs,
      this.takenMs,
      'acquired',
      now() - this.takenMs,
    );
  }

  #connectStartMs(bornMs: number | undefined, atMs: number): number | undefined {
    if (this.#arrival.found === 'room') return this.#startMs;
    return bornMs === undefined ? undefined : Math.min(atMs, Math.max(this.#startMs, bornMs));
  }

  #hold(item: unknown): void {
    let held = holders.get(this.#pool);
    if (held === undefined) holders.set(this.#pool, (held = new Map()));
    // Handed out again without a release we saw: the hold before ends here.
    held.get(item)?.released();
    held.set(item, this);
    open.add(this);
    watchSlots();
  }

  #count(segment: 'pool_wait' | 'connection_wait', startMs: number, endMs: number): void {
    countTime(this.caller, segment, startMs, endMs);
  }

  #emitPool(startMs: number, endMs: number, outcome: Outcome, holdMs?: number, errorType?: string): void {
    const { resource, capacity, inUse, queueDepth } = this.#arrival;
    emitSegment({
      segment: 'pool_wait',
      resource,
      parent: this.caller,
      startMs,
      endMs,
      outcome,
      errorType,
      capacity,
      inUse,
      queueDepth,
      holdMs,
    });
  }

  #emitConnection(startMs: number, endMs: number, outcome: Outcome, errorType?: string): void {
    this.#count('connection_wait', startMs, endMs);
    emitSegment({
      segment: 'connection_wait',
      resource: `${PREFIX_CONNECT}${this.#arrival.resource}`,
      parent: this.caller,
      startMs,
      endMs,
      outcome,
      errorType,
    });
  }
}
