import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constant, type Duration, exponential } from './random.ts';
import type { Scenario } from './scenario.ts';
import { simulate } from './simulate.ts';
import { bareScenario, steadily } from './small.ts';

const MS = 1e6;

/** Probability of waiting in M/M/c (Erlang C) with offered load a. */
function erlangC(c: number, a: number): number {
  const b = erlangB(c, a);
  return b / (1 - (a / c) * (1 - b));
}

function erlangB(c: number, a: number): number {
  let b = 1;
  for (let k = 1; k <= c; k++) b = (a * b) / (k + a * b);
  return b;
}

/** Mean over runs with different seeds, and half the width of its 99.9 % interval (Student, 9 degrees of freedom). */
function overSeeds(measure: (seed: number) => number): { mean: number; halfWidth: number } {
  const values = Array.from({ length: 10 }, (_, i) => measure(100 + i));
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / (values.length - 1);
  return { mean, halfWidth: 4.78 * Math.sqrt(variance / values.length) };
}

function assertMeanWait(scenario: Scenario, resource: string, perSecond: number, expectedNs: number): void {
  const { mean, halfWidth } = overSeeds((seed) => {
    const run = simulate(steadily({ ...scenario, seed }, perSecond, 6000), {
      record: false,
      stopAtEnd: false,
    });
    const { waitNs, visits } = run.stats.of(resource);
    return waitNs / visits;
  });
  assert.ok(
    Math.abs(mean - expectedNs) < halfWidth && halfWidth < 0.25 * expectedNs,
    `${resource}: mean wait ${mean} ± ${halfWidth} ns, formula ${expectedNs} ns`,
  );
}

const server = { address: 'api', port: 80, kind: 'http' as const, capacity: 1, slowdownPerCall: 0 };

function callService(capacity: number, cost: Duration): Scenario {
  return bareScenario({
    servers: [{ ...server, capacity }],
    routes: [{ name: 'GET /', weight: 1, steps: [{ do: 'call', server: 0, operation: 'GET /', cost }] }],
  });
}

/** One statement of 10 ms in a pool of the given size, its server never busy, its row locked when asked. */
function poolService(size: number, locked: boolean): Scenario {
  return bareScenario({
    servers: [{ ...server, address: 'db', port: 5432, kind: 'postgres', capacity: 500 }],
    pools: [
      {
        name: 'signup',
        kind: 'pg',
        size,
        server: 0,
        acquireTimeoutNs: null,
        churn: 0,
        idleTimeoutNs: null,
        handshake: constant(0),
        handshakes: 500,
        handshakesStated: true,
      },
    ],
    locks: [{ relation: 'campaign', capacity: 1, hotShare: 1, hotKeys: 1, coldKeys: 1 }],
    routes: [
      {
        name: 'GET /',
        weight: 1,
        steps: [
          {
            do: 'transaction',
            pool: 0,
            body: [
              {
                do: 'statement',
                verb: 'UPDATE',
                table: 'campaign',
                cost: exponential(10 * MS),
                ...(locked ? { lock: 0 } : {}),
              },
            ],
          },
        ],
      },
    ],
  });
}

test('the event loop is an M/M/1 queue', () => {
  const loop = bareScenario();
  assertMeanWait(
    { ...loop, cpu: { ...loop.cpu, receive: exponential(10 * MS) } },
    'eventloop',
    60,
    (0.6 / 0.4) * 10 * MS,
  );
});

test('constant service halves the wait of the event loop (M/D/1)', () => {
  const loop = bareScenario();
  assertMeanWait(
    { ...loop, cpu: { ...loop.cpu, receive: constant(10 * MS) } },
    'eventloop',
    60,
    (0.6 / 0.4 / 2) * 10 * MS,
  );
});

test('a remote server is an M/M/c queue', () => {
  const expected = (erlangC(3, 2.1) * 10 * MS) / (3 - 2.1);
  assertMeanWait(callService(3, exponential(10 * MS)), 'api:80', 210, expected);
});

test('a pool is an M/M/c queue, also where connections are new', () => {
  const expected = (erlangC(4, 2.8) * 10 * MS) / (4 - 2.8);
  assertMeanWait(poolService(4, false), 'pg-pool:signup', 280, expected);
});

test('a hot row is an M/M/1 queue', () => {
  assertMeanWait(poolService(500, true), 'lock:campaign', 60, (0.6 / 0.4) * 10 * MS);
});

test('slots without a queue lose what Erlang B says', () => {
  const scenario: Scenario = {
    ...callService(500, exponential(10 * MS)),
    admission: { slots: 5, queue: 0, timeoutNs: null },
  };
  const { mean, halfWidth } = overSeeds((seed) => {
    const run = simulate(steadily({ ...scenario, seed }, 500, 6000), { record: false, stopAtEnd: false });
    return run.requests.filter((r) => r.outcome === 'rejected').length / run.requests.length;
  });
  assert.ok(Math.abs(mean - erlangB(5, 5)) < halfWidth && halfWidth < 0.05, `${mean} ± ${halfWidth}`);
});

test('independent gauges obey the law of Little', () => {
  const run = simulate(steadily(poolService(3, true), 60, 3000), { record: false, stopAtEnd: false });
  for (const resource of ['pg-pool:signup', 'lock:campaign']) {
    const gauge = run.gauges.get(resource)!;
    const { waitNs, holdNs } = run.stats.of(resource);
    assert.equal(gauge.waitingIntegral, waitNs, `${resource}: waiters over time = sum of waits`);
    assert.equal(gauge.busyIntegral, holdNs, `${resource}: busy slots over time = sum of holds`);
  }
});
