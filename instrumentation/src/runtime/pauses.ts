import { type Attributes, type Context, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import { ATTR_PAUSE_CAUSE } from '../conventions.ts';
import { durationNs, now } from '../core/clock.ts';
import { emitSegment, type SegmentRecord } from '../core/emit.ts';
import { type RootRecord, rootOf, setRoot } from '../core/root.ts';
import { onFlush } from '../core/shutdown.ts';
import { addTap, removeTap, type Tap } from '../core/taps.ts';

/** The whole process stood still from `startMs` to `endMs`. */
export interface Pause {
  readonly startMs: number;
  readonly endMs: number;
  readonly resource: string;
  readonly cause: string;
  readonly attributes?: Attributes;
}

/** A pause is told of some turns of the event loop after it; requests are looked at when that must have happened. */
const SETTLE_MS = 100;
const MAX_PAUSES = 256;
const MAX_PAUSES_PER_REQUEST = 8;
const MAX_SLICES_PER_REQUEST = 32;
/** Requests whose pauses are still to come; beyond this the oldest go without. */
const MAX_ENDED = 4_096;

/** Time in which a request had or wanted the CPU: there a pause costs it time. */
interface Slice {
  readonly startMs: number;
  readonly endMs: number;
  readonly span: SpanContext;
}

interface Track {
  readonly root: RootRecord;
  endMs: number;
  readonly slices: Slice[];
}

/**
 * Gives pauses of the process to the requests they fell into. A pause inside a slice of work, or inside a wait
 * for the event loop, hangs below that span; the rest below the root span, where it owns what nothing else
 * was waited for.
 */
class PauseLog implements Tap {
  readonly #tracks = new Map<RootRecord, Track>();
  #ended: Track[] = [];
  #pauses: Pause[] = [];
  #timer: NodeJS.Timeout | undefined;
  #users = 0;

  /** To be called by each part that reports pauses; what is looked at per request costs nothing before. */
  open(): void {
    if (this.#users++ === 0) addTap(this);
  }

  close(): void {
    if (--this.#users > 0) return;
    removeTap(this);
    this.#tracks.clear();
    this.#ended = [];
    this.#pauses = [];
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  add(pause: Pause): void {
    if (this.#users === 0) return;
    this.#pauses.push(pause);
    if (this.#pauses.length > MAX_PAUSES) this.#pauses.shift();
  }

  rootBegan(root: RootRecord): void {
    this.#tracks.set(root, { root, endMs: Number.POSITIVE_INFINITY, slices: [] });
  }

  emitted(record: SegmentRecord, span: SpanContext): void {
    if (record.segment !== 'work' && record.segment !== 'eventloop_wait') return;
    const root = rootOf(record.parent);
    const slices = root && this.#tracks.get(root)?.slices;
    if (slices === undefined || slices.length >= MAX_SLICES_PER_REQUEST) return;
    slices.push({ startMs: record.startMs, endMs: record.endMs, span });
  }

  rootEnded(root: RootRecord, atMs: number): void {
    const track = this.#tracks.get(root);
    if (track === undefined) return;
    track.endMs = atMs;
    for (const pause of this.#within(track)) {
      const startMs = Math.max(pause.startMs, root.startMs);
      root.addTime('runtime_pause', durationNs(startMs, Math.min(pause.endMs, track.endMs)));
    }
    this.#ended.push(track);
    if (this.#ended.length > MAX_ENDED) this.#forget(this.#ended.shift());
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.settle(now() - SETTLE_MS / 2);
    }, SETTLE_MS).unref();
  }

  /** Writes the pauses of the requests that ended before `beforeMs`. */
  settle(beforeMs: number = Number.POSITIVE_INFINITY): void {
    const later: Track[] = [];
    for (const track of this.#ended) {
      if (track.endMs > beforeMs) {
        later.push(track);
        continue;
      }
      if (this.#pauses.length > 0) for (const pause of this.#within(track)) write(track, pause);
      this.#forget(track);
    }
    this.#ended = later;
    if (later.length === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.settle(now() - SETTLE_MS / 2);
    }, SETTLE_MS).unref();
  }

  /** The longest pauses of a request, in their order. */
  #within({ root, endMs }: Track): Pause[] {
    const found = this.#pauses.filter((pause) => pause.endMs > root.startMs && pause.startMs < endMs);
    if (found.length <= MAX_PAUSES_PER_REQUEST) return found;
    const byLength = [...found].sort((a, b) => b.endMs - b.startMs - (a.endMs - a.startMs));
    const kept = new Set(byLength.slice(0, MAX_PAUSES_PER_REQUEST));
    return found.filter((pause) => kept.has(pause));
  }

  #forget(track: Track | undefined): void {
    if (track !== undefined) this.#tracks.delete(track.root);
  }
}

/** The process's pauses. */
export const pauseLog = new PauseLog();
onFlush(() => pauseLog.settle());

function write({ root, endMs, slices }: Track, pause: Pause): void {
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
