import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { Export, steps } from '../infer/service.ts';

const HOLD_MS = 40;
const STEP_SECONDS = 5;

/** Pools of so many connections in each process, a connection held 40 ms; who takes which request is given. */
function pools(
  rates: readonly number[],
  takenBy: (atMs: number, i: number) => string,
  size: (instance: string) => number = () => 4,
): Input {
  const out = new Export();
  const { arrivalsMs, plan } = steps(rates.map((perSecond) => ({ perSecond, seconds: STEP_SECONDS })));
  const free = new Map<string, number[]>();
  for (const [i, atMs] of arrivalsMs.entries()) {
    const instance = takenBy(atMs, i);
    const capacity = size(instance);
    const own = free.get(instance) ?? Array<number>(capacity).fill(0);
    free.set(instance, own);
    const server = own.indexOf(Math.min(...own));
    const fromMs = Math.max(atMs, own[server]);
    own[server] = fromMs + HOLD_MS;
    out
      .request(atMs, own[server], { instance })
      .wait('pool_wait', 'pg-pool:a', atMs, fromMs, { capacity, heldMs: HOLD_MS });
  }
  return out.plan(plan).input();
}

/** First queue, knee, servers and utilisation by step. */
function answer(input: Input) {
  const { verdict, models } = analyze(input);
  const [pool] = models;
  return {
    first: verdict.first?.resource,
    instance: verdict.first?.instance,
    knee: verdict.kneePerSecond,
    servers: pool.capacity,
    busy: pool.utilization.map((u) => Math.round(10 * (u ?? 0)) / 10),
  };
}

function near(actual: number | null, expected: number): void {
  assert.ok(actual !== null && Math.abs(actual / expected - 1) < 0.03, `${actual} is not ${expected}`);
}

const RATES = [30, 60, 90, 110, 130];

test('a process that took the place of another adds no servers to it', () => {
  for (const restarts of [[12_500], [7000, 17_000], [5000, 10_000, 15_000, 20_000]]) {
    const input = pools(RATES, (atMs) => `p${restarts.filter((at) => at <= atMs).length}`);
    const { first, knee, servers, busy } = answer(input);
    assert.equal(first, 'pg-pool:a');
    near(knee, 100);
    assert.equal(servers, 4);
    assert.deepEqual(busy, [0.3, 0.6, 0.9, 1, 1]);
  }
});

test('a capacity asked for is that of the processes that are there, not of those they replaced', () => {
  const input = pools(RATES, (atMs) => `p${Math.floor(atMs / 8000)}`);
  const { verdict, resources } = analyze(input, { whatIf: ['pg-pool:a capacity 8'] });
  assert.equal(resources[0].instances, 1);
  const { low, high } = verdict.whatIf[0].kneePerSecond!;
  assert.ok(low < 200 && high > 200 && high < 220, `${low} to ${high}`);
});

test('processes that were added count from when they came', () => {
  const added = pools([30, 60, 90, 180, 220], (atMs, i) => (atMs < 15_000 || i % 2 === 0 ? 'a' : 'b'));
  const { first, instance, knee, servers, busy } = answer(added);
  assert.equal(first, 'pg-pool:a');
  assert.equal(instance, null);
  near(knee, 200);
  assert.equal(servers, 8);
  assert.deepEqual(busy, [0.3, 0.6, 0.9, 0.9, 1]);
});

test('processes that are all there all the time add up, also one with few requests', () => {
  near(answer(pools([60, 120, 180, 220, 260], (_, i) => (i % 2 === 0 ? 'a' : 'b'))).knee, 200);
  const rare = answer(pools(RATES, (_, i) => (i % 200 === 7 ? 'b' : 'a')));
  assert.equal(rare.servers, 8);
  assert.equal(rare.instance, 'a');
});

test('of processes of different size the one that is full first has least servers for what it takes', () => {
  // Half of the requests each: of the small one 2 servers serve 50/s, so that the service takes 100/s.
  const uneven = pools(
    [40, 60, 80, 110, 130],
    (_, i) => (i % 2 === 0 ? 'a' : 'b'),
    (one) => (one === 'a' ? 2 : 10),
  );
  const { instance, servers } = answer(uneven);
  assert.equal(instance, 'a');
  assert.equal(servers, 12);
  near(analyze(uneven).models[0].saturatesAt, 100);
});
