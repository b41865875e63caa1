import { type Context, trace } from '@opentelemetry/api';
import { RESOURCE_EVENT_LOOP } from '../conventions.ts';
import { durationNs } from './clock.ts';
import { emitSegment } from './emit.ts';
import { Interval } from './interval.ts';
import { loopClock } from './loop-clock.ts';
import { type RootRecord, startOfSpan } from './root.ts';

/** Shorter slices count in the root's sum but are no spans. */
const MIN_SLICE_MS = 1;

let sliceRoot: RootRecord | undefined;
let sliceStartMs = 0;
let sliceIteration = 0;

/**
 * A callback of a request begins: what it runs from here on is that request's work, until it calls out, ends,
 * or a callback of another request begins.
 */
export function enterWork(root: RootRecord | undefined, atMs: number): void {
  loopClock.noteEntry(atMs);
  sliceRoot = root;
  sliceStartMs = atMs;
  sliceIteration = loopClock.iteration;
}

/**
 * The request calls out or ends. It is proven work only within one iteration of the event loop, with nobody
 * else's callback in between: then one stretch of code ran from the entry to here.
 */
export function leaveWork(root: RootRecord | undefined, parent: Context, atMs: number): void {
  if (root === undefined || root !== sliceRoot) return;
  sliceRoot = undefined;
  if (sliceIteration !== loopClock.iteration) return;
  root.addTime('work', durationNs(sliceStartMs, atMs));
  if (atMs - sliceStartMs < MIN_SLICE_MS) return;
  // The active span may be younger than the slice: what was before it is the request's own.
  const beginsMs = startOfSpan(trace.getSpan(parent)) ?? sliceStartMs;
  if (beginsMs <= sliceStartMs) {
    emitSlice(parent, sliceStartMs, atMs);
    return;
  }
  emitSlice(root.context, sliceStartMs, Math.min(beginsMs, atMs));
  emitSlice(parent, beginsMs, atMs);
}

/**
 * Part of what a request runs now is recorded under a name of its own: the slice before it ends here, so that no time
 * is counted twice.
 *
 * @returns whether there was a slice, which {@link resumeWork} goes on with.
 */
export function interruptWork(root: RootRecord | undefined, parent: Context, atMs: number): boolean {
  const isRunning = root !== undefined && root === sliceRoot && sliceIteration === loopClock.iteration;
  if (isRunning) leaveWork(root, parent, atMs);
  return isRunning;
}

/** What was recorded under a name of its own has ended; the same stretch of code goes on. */
export function resumeWork(root: RootRecord | undefined, atMs: number): void {
  sliceRoot = root;
  sliceStartMs = atMs;
  sliceIteration = loopClock.iteration;
}

/** The request ends: as {@link leaveWork}, below its root span. */
export function endWork(root: RootRecord, atMs: number): void {
  if (root === sliceRoot) leaveWork(root, root.context, atMs);
}

function emitSlice(parent: Context, startMs: number, endMs: number): void {
  if (endMs <= startMs) return;
  const slice = new Interval('work', RESOURCE_EVENT_LOOP, parent, startMs, endMs);
  slice.name = 'work';
  slice.capacity = 1;
  emitSegment(slice);
}
