import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSlots } from '../../../instrumentation/src/adapters/slot-wait.ts';
import { assertBetween, holdEndMs, moment } from '../support/moments.ts';
import { type Recorded, type Recording, request } from '../support/recording.ts';

export const attribute = (span: Recorded, name: string) => span.attributes[`waitfall.${name}`];

/** A pool of any library. */
export interface AnyPool<T> {
  acquire(): PromiseLike<T>;
  release(item: T): unknown;
  /** When the test saw that this was made; absent where the library does not tell. */
  madeMs?(item: T): number | undefined;
}

/** What one request does with a pool: it gives back what it got when the test says so. */
export class Visit<T> {
  readonly got: Promise<T>;
  readonly done: Promise<void>;
  /** Around the call. */
  fromMs = 0;
  calledMs = 0;
  /** When it had what it asked for. */
  gotMs = 0;
  /** Around the release. */
  releasingMs = 0;
  releasedMs = 0;
  traceId = '';
  item: T | undefined;
  letGo: () => void = () => {};

  constructor(pool: AnyPool<T>) {
    const allowed = new Promise<void>((resolve) => {
      this.letGo = resolve;
    });
    let hasGot: (item: T) => void = () => {};
    const got = new Promise<T>((resolve) => {
      hasGot = resolve;
    });
    this.done = request(async () => {
      this.fromMs = moment();
      const asked = pool.acquire();
      this.calledMs = moment();
      this.item = await asked;
      this.gotMs = moment();
      hasGot(this.item);
      await allowed;
      this.releasingMs = moment();
      await pool.release(this.item);
      this.releasedMs = moment();
    }).then(({ traceId }) => {
      this.traceId = traceId;
    });
    this.got = Promise.race([got, this.done.then(() => got)]);
    // It is looked at by whoever awaits `done`.
    this.got.catch(() => {});
  }
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
 * Four requests through an empty pool of two: the first two find room and open a connection, the others wait for a slot
 * until the test lets one go. Each recorded moment lies between what the test did and saw on both sides of it.
 */
export async function fourThroughTwo<T>(
  recording: Recording,
  pool: AnyPool<T>,
  resource: string,
): Promise<void> {
  const visits = [1, 2, 3, 4].map(() => new Visit(pool));
  const [first, second, third, fourth] = visits;
  await Promise.all([first.got, second.got]);
  // Times that can be told apart from those of a call.
  await sleep(30);
  first.letGo();
  await third.got;
  await sleep(15);
  second.letGo();
  await fourth.got;
  await sleep(5);
  third.letGo();
  fourth.letGo();
  await Promise.all(visits.map(({ done }) => done));
  assert.equal(openSlots(), 0, 'nothing is held any more');
  for (const [index, visit] of visits.entries()) {
    const { traceId, fromMs, calledMs, gotMs, releasingMs, releasedMs, item } = visit;
    const wait = one(recording, 'pool_wait', traceId);
    assert.equal(wait.name, `wait_for ${resource}`);
    assert.equal(attribute(wait, 'resource.capacity'), 2);
    assert.equal(attribute(wait, 'resource.in_use'), Math.min(index, 2));
    assert.equal(attribute(wait, 'resource.queue_depth'), Math.max(0, index - 2));
    assert.equal(attribute(wait, 'outcome'), 'acquired');
    assertBetween(wait.startMs, fromMs, calledMs, 'the wait begins');
    assertBetween(holdEndMs(wait), releasingMs, releasedMs, 'the hold ends');
    if (index < 2) {
      assert.equal(wait.lengthMs, 0);
      const connection = one(recording, 'connection_wait', traceId);
      assert.equal(attribute(connection, 'resource'), `connect:${resource}`);
      assertBetween(connection.startMs, fromMs, calledMs, 'the connection begins');
      assertBetween(connection.endMs, pool.madeMs?.(item as T) ?? calledMs, gotMs, 'the connection is there');
    } else {
      none(recording, 'connection_wait', traceId);
      assertBetween(wait.endMs, visits[index - 2].releasingMs, gotMs, 'the wait ends');
    }
  }
}

/** A connection that is there already: neither wait nor connection, only the hold. */
export async function freeIsNoWait<T>(recording: Recording, pool: AnyPool<T>): Promise<void> {
  const visit = new Visit(pool);
  await visit.got;
  await sleep(10);
  visit.letGo();
  await visit.done;
  const { traceId, fromMs, gotMs, releasingMs, releasedMs } = visit;
  const wait = one(recording, 'pool_wait', traceId);
  assert.equal(wait.lengthMs, 0);
  assert.equal(attribute(wait, 'resource.in_use'), 0);
  assertBetween(wait.startMs, fromMs, gotMs, 'it was taken');
  assertBetween(holdEndMs(wait), releasingMs, releasedMs, 'the hold ends');
  none(recording, 'connection_wait', traceId);
}
