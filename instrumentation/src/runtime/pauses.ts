import { type Attributes, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import { ATTR_PAUSE_CAUSE } from '../conventions.ts';
import { durationNs } from '../core/clock.ts';
import { emitSegment, type SegmentRecord } from '../core/emit.ts';
import { type RootRecord, rootOf, type SpanSlice } from '../core/root.ts';
import { contextOfSpan } from '../core/span-id.ts';
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
/** A pause is told of a turn of the event loop after it: by then requests it fell into may have ended. */
const MAX_ENDED = 256;

/** The requests that ended last, in a circle: numbers and ids, so that no request is kept in memory for it. */
class EndedRequests {
  readonly startMs = new Float64Array(MAX_ENDED);
  readonly endMs = new Float64Array(MAX_ENDED);
  readonly spans: (SpanContext | undefined)[] = new Array(MAX_ENDED).fill(undefined);
  readonly slices: (readonly SpanSlice[] | undefined)[] = new Array(MAX_ENDED).fill(undefined);
  #at = 0;

  add(
    startMs: number,
    endMs: number,
    span: SpanContext | undefined,
    slices: readonly SpanSlice[] | undefined,
  ): void {
    const at = this.#at;
    this.startMs[at] = startMs;
    this.endMs[at] = endMs;
    this.spans[at] = span;
    this.slices[at] = slices;
    this.#at = (at + 1) % MAX_ENDED;
  }
}

/**
 * Gives pauses of the process to the requests they fell into. A pause inside a slice of work, or inside a wait
 * for the event loop, hangs below that span; the rest below the root span, where it owns what nothing else
 * was waited for.
 */
class PauseLog implements Tap {
  #ended = new EndedRequests();
  #pauses: Pause[] = [];
  #lastEndMs = 0;
  #users = 0;

  /** To be called by each part that reports pauses; what is looked at per request costs nothing before. */
  open(): void {
    if (this.#users++ === 0) addTap(this);
  }

  close(): void {
    if (--this.#users > 0) return;
    removeTap(this);
    this.#ended = new EndedRequests();
    this.#pauses = [];
    this.#lastEndMs = 0;
  }

  /** Takes a pause that is over, and writes it on the requests that have ended since. */
  add(pause: Pause): void {
    if (this.#users === 0) return;
    this.#pauses.push(pause);
    if (this.#pauses.length > MAX_PAUSES) this.#pauses.shift();
    this.#lastEndMs = Math.max(this.#lastEndMs, pause.endMs);
    const { startMs, endMs, spans, slices } = this.#ended;
    for (let at = 0; at < MAX_ENDED; at++) {
      const span = spans[at];
      if (span === undefined || !overlaps(pause, startMs[at], endMs[at])) continue;
      write(pause, startMs[at], endMs[at], span, slices[at] ?? []);
    }
  }

  emitted(record: SegmentRecord, span: SpanContext): void {
    const root = rootOf(record.parent);
    if (root === undefined) return;
    const slice = { startMs: record.startMs, endMs: record.endMs, span };
    if (root.slices === undefined) root.slices = [slice];
    else if (root.slices.length < MAX_SLICES_PER_REQUEST) root.slices.push(slice);
  }

  rootEnded(root: RootRecord, atMs: number): void {
    const { startMs, slices } = root;
    const span = contextOfSpan(root.span);
    this.#ended.add(startMs, atMs, span, slices);
    if (span === undefined || this.#lastEndMs <= startMs) return;
    for (const pause of this.#within(startMs, atMs)) {
      root.addTime(
        'runtime_pause',
        durationNs(Math.max(pause.startMs, startMs), Math.min(pause.endMs, atMs)),
      );
      write(pause, startMs, atMs, span, slices ?? []);
    }
  }

  /** The longest pauses of a request that are known by now, in their order. */
  #within(startMs: number, endMs: number): Pause[] {
    const found = this.#pauses.filter((pause) => overlaps(pause, startMs, endMs));
    if (found.length <= MAX_PAUSES_PER_REQUEST) return found;
    const byLength = [...found].sort((a, b) => b.endMs - b.startMs - (a.endMs - a.startMs));
    const kept = new Set(byLength.slice(0, MAX_PAUSES_PER_REQUEST));
    return found.filter((pause) => kept.has(pause));
  }
}

function overlaps(pause: Pause, startMs: number, endMs: number): boolean {
  return pause.endMs > startMs && pause.startMs < endMs;
}

/** The process's pauses. */
export const pauseLog = new PauseLog();

function write(
  pause: Pause,
  requestStartMs: number,
  requestEndMs: number,
  request: SpanContext,
  slices: readonly SpanSlice[],
): void {
  let fromMs = Math.max(pause.startMs, requestStartMs);
  const untilMs = Math.min(pause.endMs, requestEndMs);
  const inner = slices
    .filter((slice) => slice.endMs > fromMs && slice.startMs < untilMs)
    .sort((a, b) => a.startMs - b.startMs);
  for (const slice of inner) {
    const startMs = Math.max(fromMs, slice.startMs);
    const stopMs = Math.min(untilMs, slice.endMs);
    if (startMs > fromMs) emit(request, pause, fromMs, startMs);
    if (stopMs > startMs) emit(slice.span, pause, startMs, stopMs);
    fromMs = Math.max(fromMs, stopMs);
  }
  if (untilMs > fromMs) emit(request, pause, fromMs, untilMs);
}

function emit(below: SpanContext, pause: Pause, startMs: number, endMs: number): void {
  emitSegment({
    segment: 'runtime_pause',
    resource: pause.resource,
    parent: trace.setSpanContext(ROOT_CONTEXT, below),
    startMs,
    endMs,
    attributes: { [ATTR_PAUSE_CAUSE]: pause.cause, ...pause.attributes },
  });
}
