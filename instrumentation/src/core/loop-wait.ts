import type { Context } from '@opentelemetry/api';
import { RESOURCE_EVENT_LOOP } from '../conventions.ts';
import { countTime, emitSegment } from './emit.ts';
import { Interval } from './interval.ts';
import type { LoopWait } from './loop-clock.ts';

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
  emitSegment(loopWait(parent, atMs - lengthMs, atMs, minMs, maxMs));
}

/** @returns a wait for the event loop between two bounds. */
export function loopWait(
  parent: Context,
  startMs: number,
  endMs: number,
  minMs: number,
  maxMs: number,
): Interval {
  const wait = new Interval('eventloop_wait', RESOURCE_EVENT_LOOP, parent, startMs, endMs);
  wait.outcome = 'acquired';
  wait.capacity = 1;
  wait.minMs = minMs;
  wait.maxMs = maxMs;
  return wait;
}
