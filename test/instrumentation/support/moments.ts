import assert from 'node:assert/strict';
import { currentAnchor } from '../../../instrumentation/src/core/clock.ts';
import type { Recorded } from './recording.ts';

const originSeconds = Math.floor(performance.timeOrigin / 1e3);
/**
 * Recorded times are whole ns, and floating-point ms here; and a request that began before the clock was set anew has another
 * anchor than a moment after it: each is known to 0.02 ms.
 */
const ROUNDING_MS = 0.05;

/** @returns the present moment on the scale of recorded spans, ms. */
export function moment(): number {
  const atMs = performance.now();
  const [seconds, nanos] = currentAnchor(atMs).toHrTime(atMs);
  return (seconds - originSeconds) * 1e3 + nanos / 1e6;
}

/**
 * A recorded moment lies between what the test did or saw before it and after it. However busy the machine, that holds
 * where the record is right: on an idle one both are less than a ms apart.
 */
export function assertBetween(recordedMs: number, fromMs: number, toMs: number, what: string): void {
  assert.ok(fromMs <= toMs, `${what}: a test that looks the wrong way`);
  assert.ok(
    recordedMs >= fromMs - ROUNDING_MS && recordedMs <= toMs + ROUNDING_MS,
    `${what}: recorded ${(recordedMs - fromMs).toFixed(3)} ms after the earliest it can be, ${(recordedMs - toMs).toFixed(3)} ms after the latest`,
  );
}

/** @returns when what a wait was for was given back. */
export const holdEndMs = (span: Recorded) => span.endMs + holdMs(span);
export const holdMs = (span: Recorded) => (span.attributes['waitfall.hold.duration_ns'] as number) / 1e6;
