import { type Attributes, type Context, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import { ATTR_PAUSE_CAUSE } from '../conventions.ts';
import { durationNs } from '../core/clock.ts';
import { emitSegment, type SegmentRecord } from '../core/emit.ts';
import { type RootRecord, rootOf, setRoot } from '../core/root.ts';
import { addTap, removeTap, type Tap } from '../core/taps.ts';

/** The whole process stood still from `startMs` to `endMs`. */
export interface Pause {
  readonly startMs: number;
  readonly endMs: number;
  readonly resource: string;
  readonly cause: string;
  readonly attributes?: Attributes;
}

const MAX_PAUSES = 256;
const MAX_PAUSES_PER_REQUEST = 8;
const MAX_SLICES_PER_REQUEST = 32;
/** A pause is told of some turns of the event loop after it: by then requests it fell into may have ended. */
const MAX_ENDED = 1_024;

/** Time in which a request had or wanted the CPU: there a pause costs it time. */
interface Slice {
  readonly startMs: number;
  readonly endMs: number;
  readonly span: SpanContext;
}

/** What is kept of one request; most never need it. */
interface Ended {
  readonly root: RootRecord;
  readonly endMs: number;
}

/**
 * Gives pauses of the process to the requests they fell into. A pause inside a slice of work, or inside a wait
 * for the event loop, hangs below that span; the rest below the root span, where it owns what nothing else
 * was waited for.
 */
class PauseLog implements Tap {
  /** The requests that ended last, in a circle; few, so that they are young when they are forgotten. */
  #ended: (Ended | undefined)[] = [];
  #endedAt = 0;
  #pauses: Pause[] = [];
  #lastEndMs = 0;
  #slices = new WeakMap<RootRecord, Slice[]>();
  #users = 0;

  /** To be called by each part that reports pauses; what is looked at per request costs nothing before. */
  open(): void {
    if (this.#users++ === 0) addTap(this);
  }

  close(): void {
    if (--this.#users > 0) return;
    removeTap(this);
    this.#ended = [];
    this.#endedAt = 0;
    this.#pauses = [];
    this.#lastEndMs = 0;
  }

  /** Takes a pause that is over, and writes it on the requests that have ended since. */
  add(pause: Pause): void {
    if (this.#users === 0) return;
    this.#pauses.push(pause);
    if (this.#pauses.length > MAX_PAUSES) this.#pauses.shift();
    this.#lastEndMs = Math.max(this.#lastEndMs, pause.endMs);
    for (const ended of this.#ended) {
      if (ended !== undefined && overlaps(pause, ended)) this.#write(ended, pause);
    }
  }

  emitted(record: SegmentRecord, span: SpanContext): void {
    const root = rootOf(record.parent);
    if (root === undefined) return;
    const slice = { startMs: record.startMs, endMs: record.endMs, span };
    const slices = this.#slices.get(root);
    if (slices === undefined) this.#slices.set(root, [slice]);
    else if (slices.length < MAX_SLICES_PER_REQUEST) slices.push(slice);
  }

  rootEnded(root: RootRecord, atMs: number): void {
    const ended = { root, endMs: atMs };
    if (this.#lastEndMs > root.startMs) {
      for (const pause of this.#within(ended)) {
        root.addTime(
          'runtime_pause',
          durationNs(Math.max(pause.startMs, root.startMs), Math.min(pause.endMs, atMs)),
        );
        this.#write(ended, pause);
      }
    }
    this.#ended[this.#endedAt] = ended;
    this.#endedAt = (this.#endedAt + 1) % MAX_ENDED;
  }

  /** The longest pauses of a request that are known by now, in their order. */
  #within(ended: Ended): Pause[] {
    const found = this.#pauses.filter((pause) => overlaps(pause, ended));
    if (found.length <= MAX_PAUSES_PER_REQUEST) return found;
    const byLength = [...found].sort((a, b) => b.endMs - b.startMs - (a.endMs - a.startMs));
    const kept = new Set(byLength.slice(0, MAX_PAUSES_PER_REQUEST));
    return found.filter((pause) => kept.has(pause));
  }

  #write(ended: Ended, pause: Pause): void {
    write(ended, this.#slices.get(ended.root) ?? [], pause);
  }
}

function overlaps(pause: Pause, { root, endMs }: Ended): boolean {
  return pause.endMs > root.startMs && pause.startMs < endMs;
}

/** The process's pauses. */
export const pauseLog = new PauseLog();

function write({ root, endMs }: Ended, slices: readonly Slice[], pause: Pause): void {
  let fromMs = Math.max(pause.startMs, root.startMs);
  const untilMs = Math.min(pause.endMs, endMs);
  const inner = slices
    .filter((slice) => slice.endMs > fromMs && slice.startMs < untilMs)
    .sort((a, b) => a.startMs - b.startMs);
  for (const slice of inner) {
    const startMs = Math.max(fromMs, slice.startMs);
    const stopMs = Math.min(untilMs, slice.endMs);
    if (startMs > fromMs) emit(contextOf(root, root.span.spanContext()), pause, fromMs, startMs);
    if (stopMs > startMs) emit(contextOf(root, slice.span), pause, startMs, stopMs);
    fromMs = Math.max(fromMs, stopMs);
  }
  if (untilMs > fromMs) emit(contextOf(root, root.span.spanContext()), pause, fromMs, untilMs);
}

function contextOf(root: RootRecord, spanContext: SpanContext): Context {
  const span = trace.wrapSpanContext(spanContext);
  setRoot(span, root, root.startMs);
  return trace.setSpan(ROOT_CONTEXT, span);
}

function emit(parent: Context, pause: Pause, startMs: number, endMs: number): void {
  emitSegment({
    segment: 'runtime_pause',
    resource: pause.resource,
    parent,
    startMs,
    endMs,
    attributes: { [ATTR_PAUSE_CAUSE]: pause.cause, ...pause.attributes },
  });
}
