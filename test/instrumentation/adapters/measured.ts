import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSlots } from '../../../instrumentation/src/adapters/slot-wait.ts';
import { type Recorded, type Recording, request } from '../support/recording.ts';

/** A recorded interval lies inside what the test saw around it, and misses no more than this of it. */
export const MAX_MISSED_MS = 40;
/** Both ends are rounded to where the event loop ran: this much it may seem longer. */
export const MAX_EXCESS_MS = 20;

/** A time is further off than it may be. */
class Off extends Error {}

export function assertMeasured(recordedMs: number, aroundMs: number, what: string): void {
  if (recordedMs > aroundMs + MAX_EXCESS_MS)
    throw new Off(`${what}: ${recordedMs} ms recorded, ${aroundMs} ms around it`);
  if (recordedMs < aroundMs - MAX_MISSED_MS)
    throw new Off(`${what}: ${recordedMs} ms recorded of ${aroundMs} ms`);
}

const ATTEMPTS = 4;

/**
 * A process that got no core between two readings of the clock shows a time that is off, and does not the next time; a
 * time that is measured wrong is off each time. Everything but times must be right at once.
 */
export async function timed(recording: Recording, measure: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await measure();
      return;
    } catch (error) {
      if (!(error instanceof Off) || attempt === ATTEMPTS) throw error;
      recording.clear();
    }
  }
}

export const holdMs = (span: Recorded) => (span.attributes['waitfall.hold.duration_ns'] as number) / 1e6;
export const attribute = (span: Recorded, name: string) => span.attributes[`waitfall.${name}`];

/** A pool of any library. */
export interface AnyPool<T> {
  acquire(): PromiseLike<T>;
  release(item: T): unknown;
}

/** What one request did with a pool, on the clock of the test. */
export interface Visit {
  readonly traceId: string;
  readonly calledMs: number;
  readonly gotMs: number;
  readonly releasedMs: number;
}

/** One request that takes something, holds it, and gives it back. */
export async function visit<T>(pool: AnyPool<T>, heldMs: number): Promise<Visit> {
  let [calledMs, gotMs, releasedMs] = [0, 0, 0];
  const { traceId } = await request(async () => {
    calledMs = performance.now();
    const item = await pool.acquire();
    gotMs = performance.now();
    await sleep(heldMs);
    await pool.release(item);
    releasedMs = performance.now();
  });
  return { traceId, calledMs, gotMs, releasedMs };
}

/** @returns the only span of a segment in a trace. */
export function one(recording: Recording, segment: string, traceId: string): Recorded {
  const found = recording.segment(segment).filter((span) => span.traceId === traceId);
  assert.equal(found.length, 1, `${segment} of ${traceId}: ${found.length}`);
  return found[0];
}

export function none(recording: Recording, segment: string, traceId: string): void {
  assert.deepEqual(
    recording
      .segment(segment)
      .filter((span) => span.traceId === traceId)
      .map((span) => span.name),
    [],
  );
}

/**
 * Four requests of 60 ms through an empty pool of two: the first two find room and open a connection, the
 * others wait for a slot. Every recorded interval is compared with what the test measured around it.
 */
export async function fourThroughTwo<T>(
  recording: Recording,
  pool: AnyPool<T>,
  resource: string,
): Promise<void> {
  const visits = await Promise.all([1, 2, 3, 4].map(() => visit(pool, 60)));
  assert.equal(openSlots(), 0, 'nothing is held any more');
  // Else the second gets what the first gives back, and the new connection goes to a third.
  if (visits[1].gotMs > visits[0].releasedMs) throw new Off('a connection took longer than a hold');
  for (const [index, { traceId, calledMs, gotMs, releasedMs }] of visits.entries()) {
    const wait = one(recording, 'pool_wait', traceId);
    assert.equal(wait.name, `wait_for ${resource}`);
    assert.equal(attribute(wait, 'resource.capacity'), 2);
    assert.equal(attribute(wait, 'resource.in_use'), Math.min(index, 2));
    assert.equal(attribute(wait, 'resource.queue_depth'), Math.max(0, index - 2));
    assert.equal(attribute(wait, 'outcome'), 'acquired');
    if (index < 2) {
      assert.equal(wait.lengthMs, 0);
      const connection = one(recording, 'connection_wait', traceId);
      assert.equal(attribute(connection, 'resource'), `connect:${resource}`);
      assertMeasured(connection.lengthMs, gotMs - calledMs, 'connection_wait');
      assertMeasured(holdMs(wait), releasedMs - calledMs, 'hold');
    } else {
      none(recording, 'connection_wait', traceId);
      assert.ok(wait.lengthMs >= 55, `waited for a whole hold: ${wait.lengthMs}`);
      assertMeasured(wait.lengthMs, gotMs - calledMs, 'pool_wait');
      assertMeasured(holdMs(wait), releasedMs - gotMs, 'hold');
    }
  }
  const [third, fourth] = visits.slice(2).map(({ traceId }) => one(recording, 'pool_wait', traceId));
  assert.ok(third.endMs <= fourth.endMs, 'first come, first served');
}

/** A connection that is there already: neither wait nor connection, only the hold. */
export async function freeIsNoWait<T>(recording: Recording, pool: AnyPool<T>): Promise<void> {
  const { traceId, gotMs, releasedMs } = await visit(pool, 30);
  const wait = one(recording, 'pool_wait', traceId);
  assert.equal(wait.lengthMs, 0);
  assert.equal(attribute(wait, 'resource.in_use'), 0);
  assertMeasured(holdMs(wait), releasedMs - gotMs, 'hold');
  none(recording, 'connection_wait', traceId);
}
