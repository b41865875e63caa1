import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { namePool } from '@waitfall/instrumentation';
import {
  openSlots,
  openSlotsByPool,
  setSlotWarnMs,
} from '../../../instrumentation/src/adapters/slot-wait.ts';
import { assertBetween, moment } from '../support/moments.ts';
import { type Recording, request, startRecording } from '../support/recording.ts';
import { type AnyPool, attribute, fourThroughTwo, freeIsNoWait, none, one } from './measured.ts';

const require = createRequire(import.meta.url);
let recording: Recording;

before(() => {
  recording = startRecording({ official: false });
});
after(() => recording.stop());
beforeEach(() => recording.clear());

interface Made {
  readonly number: number;
  /** When it was there. */
  readonly atMs?: number;
}

interface Settings {
  readonly max: number;
  readonly timeoutMs?: number;
  readonly create?: () => Promise<Made>;
}

interface TestPool extends AnyPool<Made> {
  /** The library's own object. */
  readonly own: object;
  close(): Promise<unknown>;
}

let made = 0;
const slowCreate = async (): Promise<Made> => {
  await sleep(30);
  return { number: ++made, atMs: moment() };
};
const madeMs = ({ atMs }: Made) => atMs;

/** The same small pool in each library. */
const LIBRARIES: Record<string, (settings: Settings) => TestPool> = {
  'tarn-pool': ({ max, timeoutMs = 5_000, create = slowCreate }) => {
    const { Pool } = require('tarn');
    const pool = new Pool({
      create,
      destroy: () => {},
      min: 0,
      max,
      acquireTimeoutMillis: timeoutMs,
      propagateCreateError: true,
    });
    return {
      own: pool,
      madeMs,
      acquire: () => pool.acquire().promise,
      release: (item) => pool.release(item),
      close: () => pool.destroy(),
    };
  },
  'sequelize-pool': ({ max, timeoutMs = 5_000, create = slowCreate }) => {
    const { Pool } = require('sequelize-pool');
    const pool = new Pool({
      create,
      destroy: async () => {},
      validate: () => true,
      min: 0,
      max,
      acquireTimeoutMillis: timeoutMs,
    });
    return {
      own: pool,
      madeMs,
      acquire: () => pool.acquire(),
      release: (item) => pool.release(item),
      close: () => pool.drain().then(() => pool.destroyAllNow()),
    };
  },
  'generic-pool': ({ max, timeoutMs = 5_000, create = slowCreate }) => {
    const { createPool } = require('generic-pool');
    const pool = createPool(
      { create, destroy: async () => {} },
      { min: 0, max, acquireTimeoutMillis: timeoutMs },
    );
    return {
      own: pool,
      madeMs,
      acquire: () => pool.acquire(),
      release: (item) => pool.release(item),
      close: () => pool.drain().then(() => pool.clear()),
    };
  },
};

for (const [library, open] of Object.entries(LIBRARIES)) {
  test(`${library}: waits, new connections and holds begin and end with what the caller and the factory do`, async () => {
    const pool = open({ max: 2 });
    await fourThroughTwo(recording, pool, library);
    recording.clear();
    await freeIsNoWait(recording, pool);
    await pool.close();
  });

  test(`${library}: who runs out of time is a timeout, and its error is the library's`, async () => {
    const pool = open({ max: 1, timeoutMs: 50 });
    namePool(pool.own, 'small');
    const holder = await pool.acquire();
    let error: Error | undefined;
    let [fromMs, calledMs, dueMs, toldMs] = [0, 0, 0, 0];
    const { traceId } = await request(async () => {
      // As long as the pool's own, and set before it: it fires before it.
      setTimeout(() => {
        dueMs = moment();
      }, 50);
      fromMs = moment();
      const asked = pool.acquire();
      calledMs = moment();
      error = await asked.then(
        () => undefined,
        (reason: Error) => reason,
      );
      toldMs = moment();
    });
    assert.equal(error?.constructor.name, 'TimeoutError');
    const wait = one(recording, 'pool_wait', traceId);
    assert.equal(attribute(wait, 'resource'), `${library}:small`);
    assert.equal(attribute(wait, 'outcome'), 'timeout');
    assert.equal(wait.failed, true);
    assertBetween(wait.startMs, fromMs, calledMs, 'the wait begins');
    assertBetween(wait.endMs, dueMs, toldMs, 'the wait ends');
    pool.release(holder);
    await pool.close();
    assert.equal(openSlots(), 0);
  });

  test(`${library}: the hand-over goes to the trace of the caller, in the order of the calls`, async () => {
    const pool = open({ max: 1, create: async () => ({ number: 1 }) });
    const order: number[] = [];
    const traces = await Promise.all(
      [1, 2, 3].map((number) =>
        request(async () => {
          const item = await pool.acquire();
          order.push(number);
          await sleep(10);
          pool.release(item);
        }),
      ),
    );
    assert.deepEqual(order, [1, 2, 3]);
    assert.equal(new Set(traces.map(({ traceId }) => traceId)).size, 3);
    for (const { traceId } of traces) one(recording, 'pool_wait', traceId);
    await pool.close();
  });
}

for (const library of ['tarn-pool', 'sequelize-pool']) {
  test(`${library}: a connection that cannot be made is a refused connection, not a full pool`, async () => {
    const pool = LIBRARIES[library]({
      max: 1,
      create: async () => {
        await sleep(20);
        throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      },
    });
    const { traceId } = await request(async () => {
      await assert.rejects(async () => pool.acquire(), { code: 'ECONNREFUSED' });
    });
    const connection = one(recording, 'connection_wait', traceId);
    assert.equal(attribute(connection, 'outcome'), 'rejected');
    assert.equal(connection.attributes['error.type'], 'ECONNREFUSED');
    assert.equal(one(recording, 'pool_wait', traceId).lengthMs, 0);
    await pool.close();
  });
}

test('generic-pool: a full queue refuses at once', async () => {
  const { createPool } = require('generic-pool');
  const pool = createPool(
    { create: async () => ({}), destroy: async () => {} },
    { max: 1, maxWaitingClients: 0 },
  );
  const holder = await pool.acquire();
  const { traceId } = await request(async () => {
    await assert.rejects(() => pool.acquire(), /max waitingClients/);
  });
  const wait = one(recording, 'pool_wait', traceId);
  assert.equal(attribute(wait, 'outcome'), 'rejected');
  none(recording, 'connection_wait', traceId);
  await pool.release(holder);
  await assert.rejects(() => pool.release(holder), /not currently part/);
  await pool.drain();
});

test('generic-pool: use() records like acquire and release', async () => {
  const { createPool } = require('generic-pool');
  const pool = createPool({ create: async () => ({}), destroy: async () => {} }, { max: 1 });
  const { traceId, value } = await request(() => pool.use(async () => 'result'));
  assert.equal(value, 'result');
  one(recording, 'pool_wait', traceId);
  assert.equal(openSlots(), 0);
  await pool.drain();
});

test('a slot that is not given back is counted, and said once with its trace', async () => {
  const pool = LIBRARIES['generic-pool']({ max: 1 });
  namePool(pool.own, 'leaky');
  const said: string[] = [];
  const write = process.stderr.write;
  setSlotWarnMs(30);
  process.stderr.write = (text: string | Uint8Array) => said.push(String(text)) > 0;
  try {
    const { traceId, value } = await request(async () => pool.acquire());
    for (let tries = 0; said.length === 0 && tries < 200; tries++) await sleep(10);
    await sleep(40);
    assert.deepEqual(
      [...openSlotsByPool()].map(([name, { count }]) => `${name} ${count}`),
      ['generic-pool:leaky 1'],
    );
    assert.equal(said.length, 1);
    assert.match(said[0], new RegExp(`generic-pool:leaky .*${traceId}`));
    pool.release(value);
  } finally {
    process.stderr.write = write;
    setSlotWarnMs(60_000);
  }
  await pool.close();
  assert.equal(openSlotsByPool().size, 0);
});
