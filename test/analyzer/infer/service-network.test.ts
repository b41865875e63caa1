import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseChange } from '../../../analyzer/src/infer/change.ts';
import { changeNetwork } from '../../../analyzer/src/infer/changed-network.ts';
import { closedThroughput } from '../../../analyzer/src/infer/closed-network.ts';
import { forecast } from '../../../analyzer/src/infer/forecast.ts';
import { limitsOf, type NetworkQueue, networkOf } from '../../../analyzer/src/infer/service-network.ts';
import { frame, MS, model } from './sketch.ts';

const FLAT = [0, 0, 0];

function near(actual: number | undefined, expected: number, share = 0.01): void {
  assert.ok(
    actual !== undefined && Math.abs(actual / expected - 1) <= share,
    `${actual} is not near ${expected}`,
  );
}

test('a closed network of one customer takes the sum of its times', () => {
  near(closedThroughput(1, 6 * MS, [{ demandNs: 4 * MS, servers: 1 }]), 100);
});

test('a closed network without stations is its servers over the hold', () => {
  near(closedThroughput(5, 10 * MS, []), 500);
});

test('balanced stations: N / (N + K - 1) of what one could do', () => {
  const one = { demandNs: 10 * MS, servers: 1 };
  near(closedThroughput(2, 0, [one, one]), 100 * (2 / 3));
  near(closedThroughput(8, 0, [one, one, one]), 100 * (8 / 10));
});

test('with many customers the slowest station decides, with few its queue takes a part', () => {
  const row = { demandNs: 6.667 * MS, servers: 1 };
  near(closedThroughput(4, 33.333 * MS, [row]), 90.1, 0.01);
  near(closedThroughput(60, 33.333 * MS, [row]), 150, 0.01);
  near(closedThroughput(100_000, 33.333 * MS, [row]), 150, 0.01);
});

test('a station of several servers is a delay while customers are fewer', () => {
  near(closedThroughput(1, 0, [{ demandNs: 10 * MS, servers: 4 }]), 100);
  near(closedThroughput(300, 0, [{ demandNs: 10 * MS, servers: 4 }]), 400, 0.02);
});

test('part of a customer counts in proportion', () => {
  near(closedThroughput(0.5, 10 * MS, []), 50);
  near(closedThroughput(2.5, 10 * MS, []), 250);
});

/** A pool of 4 (40 ms a request) with a row locked 6.667 ms inside. */
function poolAndRow(rowMs = 6.667, loopWaits = new Map()): NetworkQueue[] {
  const row = model({
    index: 0,
    name: 'row',
    kind: 'lock',
    saturatesAt: 1000 / rowMs,
    waitMs: FLAT,
    demandMs: rowMs,
  });
  const pool = model({
    index: 1,
    name: 'pool',
    kind: 'pool',
    saturatesAt: 100,
    waitMs: FLAT,
    demandMs: 40,
    capacity: 4,
  });
  const of = (one: typeof row, inside: ReadonlyMap<number, number>): NetworkQueue => ({
    model: one,
    servers: one.capacity,
    demandNs: one.demandNs,
    alonePerSecond: one.saturatesAt,
    insideNs: inside,
    loopWaits: new Map(),
  });
  return [{ ...of(row, new Map()), loopWaits }, of(pool, new Map([[0, rowMs * MS]]))];
}

test('a pool whose holders queue for a row is full below its own rate, and stays the cause', () => {
  const [lowest] = limitsOf(poolAndRow());
  assert.equal(lowest.queue.model.name, 'pool');
  assert.equal(lowest.cause.model.name, 'pool');
  near(lowest.perSecond, 90.1);
});

test('where the row saturates first, it is the cause of the full pool', () => {
  const [lowest] = limitsOf(poolAndRow(11));
  assert.equal(lowest.cause.model.name, 'row');
  assert.ok(lowest.perSecond < 1000 / 11);
});

test('change: a shorter hold shortens the hold around it', () => {
  const network = poolAndRow();
  const changed = changeNetwork(network, network[0].model, parseChange('row hold x0.5'));
  near(changed[0].alonePerSecond!, 300);
  near(changed[1].demandNs, 36.667 * MS);
  near(changed[1].alonePerSecond!, 4000 / 36.667);
});

test('change: a capacity scales its queue alone', () => {
  const network = poolAndRow();
  const changed = changeNetwork(network, network[1].model, parseChange('pool capacity 8'));
  near(changed[1].alonePerSecond!, 200);
  assert.equal(changed[0], network[0]);
  // The row holds the larger pool back.
  near(limitsOf(changed)[0].perSecond, 141, 0.03);
});

test('change: the capacity asked for is that of each process', () => {
  const [row, pool] = poolAndRow();
  const replicated = { ...pool, servers: 12, alonePerSecond: 300, model: { ...pool.model, processes: 3 } };
  const changed = changeNetwork([row, replicated], replicated.model, parseChange('pool capacity 8'));
  assert.equal(changed[1].servers, 24);
  near(changed[1].alonePerSecond!, 600);
});

test('what was seen to be sustained is a bound: no other queue has a lower rate, one rated by completions has none', () => {
  const first = model({ index: 0, name: 'lock', kind: 'lock', saturatesAt: 100, waitMs: FLAT });
  const pool = model({ index: 1, name: 'pool', kind: 'pool', saturatesAt: 60, waitMs: FLAT });
  const door = model({ index: 2, name: 'door', kind: 'connection', saturatesAt: 40, waitMs: FLAT });
  const network = networkOf([first, pool, { ...door, capacity: null }], frame([20, 40, 60]), {
    first,
    rate: 100,
    kneePerSecond: 90,
  });
  assert.deepEqual(
    network.map((queue) => queue.alonePerSecond),
    [100, 90, null],
  );
});

test('change: a hold made faster waits for the loop as often, one made shorter by moving steps out does not', () => {
  const waits = new Map([[7, { alwaysNs: 0, atEvenOddsNs: 2 * MS }]]);
  const network = poolAndRow(6.667, waits);
  const left = (bound: 'low' | 'best' | 'high') =>
    changeNetwork(network, network[0].model, parseChange('row hold x0.25'), bound)[0].loopWaits.get(7)!
      .atEvenOddsNs;
  assert.equal(left('low'), 2 * MS);
  assert.equal(left('high'), 0.5 * MS);
  assert.equal(left('best'), 1.25 * MS);
});

/** About load / (1 - load), but no more than 15 can stand at the loop; load = rate / 100. */
const odds = (rate: number) => rate / (100 - rate + rate / 15);

test('waits for the loop: what is there at every load does not grow with it', () => {
  const rates = [20, 40, 60];
  // 1 ms always, and 2 ms at even odds.
  const nested = rates.map((rate) => 1 + 2 * odds(rate));
  const loop = model(
    { index: 1, name: 'eventloop', kind: 'eventloop', saturatesAt: 100, waitMs: FLAT },
    rates,
  );
  const lock = model(
    { index: 0, name: 'lock', kind: 'lock', saturatesAt: 200, waitMs: FLAT, nestedMs: { 1: nested } },
    rates,
  );
  const waits = networkOf([loop, lock], frame(rates))[1].loopWaits.get(1)!;
  near(waits.alwaysNs, MS);
  near(waits.atEvenOddsNs, 2 * MS);
});

test('forecast: the lowest R, below the knee', () => {
  const a = model({ index: 0, name: 'a', kind: 'pool', saturatesAt: 150, waitMs: FLAT });
  assert.deepEqual(forecast([a], frame([20, 40, 60])), { model: a, perSecond: 150 });
  assert.equal(
    forecast([model({ index: 0, name: 'b', kind: 'pool', saturatesAt: null, waitMs: FLAT })], frame()),
    null,
  );
});

test('forecast: waits for the loop inside a lock bring the limit below every R', () => {
  const rates = [20, 40, 60];
  // 2 ms at even odds, which is about half load.
  const nested = rates.map((rate) => 2 * odds(rate));
  const loop = model(
    { index: 1, name: 'eventloop', kind: 'eventloop', saturatesAt: 100, waitMs: [0, 0, 0], demandMs: 10 },
    rates,
  );
  const lock = model(
    {
      index: 0,
      name: 'lock',
      kind: 'lock',
      saturatesAt: 200,
      waitMs: [0, 0, 0],
      demandMs: 5,
      nestedMs: { 1: nested },
    },
    rates,
  );
  const ahead = forecast([loop, lock], frame(rates));
  // rate x (5 ms + 2 ms x odds) = 1 at 82.4/s.
  near(ahead?.perSecond, 82.4, 0.002);
  assert.equal(ahead?.model.name, 'eventloop');
});
