import type { Attributes, Context } from '@opentelemetry/api';
import {
  ATTR_ESTIMATE_MAX_NS,
  ATTR_ESTIMATE_MIN_NS,
  ATTR_ESTIMATED,
  RESOURCE_EVENT_LOOP,
} from '../conventions.ts';
import { durationNs } from './clock.ts';
import { countTime, emitSegment } from './emit.ts';
import type { LoopWait } from './loop-clock.ts';

/** Bounds closer than this are a measurement. */
const MAX_UNCERTAINTY_MS = 1;
/** Shorter waits at the tail of a response are not worth a span per statement. */
const MIN_TAIL_MS = 1;

/** @returns whether {@link emitLoopTail} has something to record. */
export function hasLoopTail(wait: LoopWait, notBeforeMs: number, atMs: number): boolean {
  const maxMs = Math.min(wait.maxMs, atMs - notBeforeMs);
  return (Math.min(wait.minMs, maxMs) + maxMs) / 2 >= MIN_TAIL_MS;
}

/**
 * Records that a response lay in the event loop before its callback ran at `atMs`. With a sleeping poll its
 * arrival is known; otherwise it came at some time between two polls, and the middle of the bounds is the
 * estimate.
 *
 * @param notBeforeMs when the response cannot have been there yet: its request was sent.
 */
export function emitLoopTail(parent: Context, wait: LoopWait, notBeforeMs: number, atMs: number): void {
  if (!hasLoopTail(wait, notBeforeMs, atMs)) return;
  const maxMs = Math.min(wait.maxMs, atMs - notBeforeMs);
  const minMs = Math.min(wait.minMs, maxMs);
  const lengthMs = (minMs + maxMs) / 2;
  countTime(parent, 'eventloop_wait', atMs - lengthMs, atMs);
  emitSegment({
    segment: 'eventloop_wait',
    resource: RESOURCE_EVENT_LOOP,
    parent,
    startMs: atMs - lengthMs,
    endMs: atMs,
    outcome: 'acquired',
    capacity: 1,
    attributes: boundsOf(minMs, maxMs),
  });
}

/** @returns the bounds of an interval as attributes; marked as an estimate where they are apart. */
export function boundsOf(minMs: number, maxMs: number): Attributes {
  const attributes: Attributes = {
    [ATTR_ESTIMATE_MIN_NS]: durationNs(0, minMs),
    [ATTR_ESTIMATE_MAX_NS]: durationNs(0, maxMs),
  };
  if (maxMs - minMs > MAX_UNCERTAINTY_MS) attributes[ATTR_ESTIMATED] = true;
  return attributes;
}
