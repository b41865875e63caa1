import { type Attributes, type Context, type HrTime, SpanKind } from '@opentelemetry/api';
import { ATTR_ESTIMATED, RESOURCE_HTTP_QUEUE, SCOPE_NAME } from '../conventions.ts';
import { now } from './clock.ts';
import { countTime, emitSegment } from './emit.ts';
import { AttributeObject } from './fragment.ts';
import { loopClock, loopIdleMs } from './loop-clock.ts';
import { loopWait } from './loop-wait.ts';
import { type RootRecord, rootOfSpan } from './root.ts';
import { setEnd } from './span-end.ts';
import type { StartedSpan } from './started-span.ts';
import { tapFailed, tapsOf } from './taps.ts';
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
 * A request's first callback runs: what it had waited before, in front of the service by its own account and
 * provably for the event loop, becomes its first parts.
 *
 * @param queuedMs time since a proxy took the request, ms; 0 where nothing is known of that.
 * @returns when its root span starts: `atMs`, or that much earlier.
 */
export function beginRequest(root: RootRecord, atMs: number, queuedMs = 0): number {
  const { minMs, maxMs: waitMaxMs } = loopClock.waitAt(atMs);
  enterWork(root, atMs);
  const loopWaitMs = minMs < MIN_ENTRY_WAIT_MS ? 0 : minMs;
  const waitedMs = Math.max(queuedMs, loopWaitMs);
  if (waitedMs === 0) return atMs;
  const startMs = atMs - waitedMs;
  const readyMs = atMs - loopWaitMs;
  root.startMs = startMs;
  root.movedMs = waitedMs;
  const parent = root.context;
  if (readyMs > startMs) emitQueueWait(parent, startMs, readyMs);
  if (loopWaitMs === 0) return startMs;
  countTime(parent, 'eventloop_wait', readyMs, atMs);
  emitSegment(loopWait(parent, readyMs, atMs, minMs, waitMaxMs));
  return startMs;
}

/** Two clocks: the start is the proxy's, the end ours. */
function emitQueueWait(parent: Context, startMs: number, endMs: number): void {
  countTime(parent, 'admission_wait', startMs, endMs);
  emitSegment({
    segment: 'admission_wait',
    resource: RESOURCE_HTTP_QUEUE,
    parent,
    startMs,
    endMs,
    outcome: 'acquired',
    attributes: { [ATTR_ESTIMATED]: true },
  });
}

/** As {@link beginRequest} for a span of the SDK that has begun already. */
export function moveStart(span: StartedSpan, queuedMs: number): void {
  const root = rootOfSpan(span);
  if (root === undefined || root.span !== span || queuedMs <= root.movedMs) return;
  const startMs = root.enteredMs - queuedMs;
  const readyMs = root.enteredMs - root.movedMs;
  root.startMs = startMs;
  root.movedMs = queuedMs;
  span.startTime = root.anchor.toHrTime(startMs);
  emitQueueWait(root.context, startMs, readyMs);
}

/** A request's last callback ran at `atMs`: what is known of it as a whole is complete. */
export function finishRequest(root: RootRecord, atMs: number): void {
  endWork(root, atMs);
  for (const tap of tapsOf.rootEnded) {
    try {
      tap.rootEnded?.(root, atMs);
    } catch (error) {
      tapFailed(tap, error);
    }
  }
  root.isOver = true;
  const openMs = atMs - root.enteredMs;
  if (openMs <= 0) return;
  const idle = (loopIdleMs() - root.idleMs) / openMs;
  root.utilization = Math.round(Math.min(1, Math.max(0, 1 - idle)) * 1e4) / 1e4;
}

/** A root span of the SDK ends: the sums of its request go on it. */
export function endRoot(span: StartedSpan, root: RootRecord): void {
  finishRequest(root, now());
  if (root.movedMs > 0 && !root.endMoved) {
    root.endMoved = true;
    moveEnd(span, root.movedMs);
  }
  root.writeAttributes(new AttributeObject(span.attributes as Attributes));
  root.release();
}

/** The SDK computes a default end as start plus monotonic duration: a start that was moved has to be undone. */
function moveEnd(span: StartedSpan, movedMs: number): void {
  const [seconds, nanos] = span.endTime;
  const moved = nanos + Math.round(movedMs * 1e6);
  const endTime: HrTime = [seconds + (Math.floor(moved / 1e9) | 0), (moved % 1e9) | 0];
  // An explicit end is right as it is; a default one lies before now by what the start was moved.
  if (endTime[0] * 1e3 + endTime[1] / 1e6 > Date.now() + 2) return;
  setEnd(span, endTime);
}
