import { type HrTime, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import {
  ATTR_DROPPED_COUNT,
  ATTR_DROPPED_NS,
  ATTR_EVENTLOOP_UTILIZATION,
  ATTR_SERVER_RECEIVED_UNIX_NANO,
  RESOURCE_EVENT_LOOP,
  SCOPE_NAME,
  timeAttribute,
} from '../conventions.ts';
import { now } from './clock.ts';
import { countTime, emitSegment } from './emit.ts';
import { loopClock, loopIdleMs } from './loop-clock.ts';
import { boundsOf } from './loop-wait.ts';
import type { RootRecord } from './root.ts';
import { setEnd } from './span-end.ts';
import type { StartedSpan } from './started-span.ts';
import { endWork, enterWork } from './work.ts';

/** Shorter waits at the entry are not worth a span per request. */
const MIN_ENTRY_WAIT_MS = 1;

/** Whose SERVER spans begin in the first callback of a request, on every instrumented server. */
const ENTRY_SCOPES = new Set([SCOPE_NAME, '@opentelemetry/instrumentation-http']);

/** @returns whether a root span begins in an I/O callback of its request: only there the loop's wait is known. */
export function isRequestEntry(span: StartedSpan): boolean {
  return span.kind === SpanKind.SERVER && ENTRY_SCOPES.has(span.instrumentationScope?.name ?? '');
}

/**
 * A request's first callback runs: what it had provably waited for the event loop before becomes the first
 * part of the request, and its root span starts that much earlier.
 */
export function beginRequest(span: StartedSpan, root: RootRecord, atMs: number): void {
  const wait = loopClock.waitAt(atMs);
  enterWork(root, atMs);
  if (wait.minMs < MIN_ENTRY_WAIT_MS) return;
  const startMs = atMs - wait.minMs;
  root.startMs = startMs;
  root.movedMs = wait.minMs;
  span.startTime = root.anchor.toHrTime(startMs);
  span.attributes[ATTR_SERVER_RECEIVED_UNIX_NANO] = root.anchor.toUnixNano(startMs);
  const parent = trace.setSpan(ROOT_CONTEXT, span);
  countTime(parent, 'eventloop_wait', startMs, atMs);
  emitSegment({
    segment: 'eventloop_wait',
    resource: RESOURCE_EVENT_LOOP,
    parent,
    startMs,
    endMs: atMs,
    outcome: 'acquired',
    capacity: 1,
    attributes: boundsOf(wait.minMs, wait.maxMs),
  });
}

/** A root span ends: the sums of its request go on it. */
export function endRoot(span: StartedSpan, root: RootRecord): void {
  endWork(root, now());
  if (root.movedMs > 0 && !root.endMoved) {
    root.endMoved = true;
    moveEnd(span, root.movedMs);
  }
  const { attributes } = span;
  for (const [segment, ns] of root.timeNs) attributes[timeAttribute(segment)] = ns;
  if (root.droppedCount > 0) {
    attributes[ATTR_DROPPED_NS] = root.droppedNs;
    attributes[ATTR_DROPPED_COUNT] = root.droppedCount;
  }
  const openMs = now() - root.startMs + root.movedMs;
  if (openMs <= 0) return;
  const idle = (loopIdleMs() - root.idleMs) / openMs;
  attributes[ATTR_EVENTLOOP_UTILIZATION] = Math.round(Math.min(1, Math.max(0, 1 - idle)) * 1e4) / 1e4;
}

/** The SDK computes a default end as start plus monotonic duration: a start that was moved has to be undone. */
function moveEnd(span: StartedSpan, movedMs: number): void {
  const [seconds, nanos] = span.endTime;
  const moved = nanos + Math.round(movedMs * 1e6);
  const endTime: HrTime = [seconds + Math.floor(moved / 1e9), moved % 1e9];
  // An explicit end is right as it is; a default one lies before now by what the start was moved.
  if (endTime[0] * 1e3 + endTime[1] / 1e6 > Date.now() + 2) return;
  setEnd(span, endTime);
}
