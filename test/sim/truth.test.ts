import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demands } from './demand.ts';
import { blueprint, FAMILIES, type Family } from './generate.ts';
import { planLoad } from './plan-load.ts';
import { hotRow } from './small.ts';
import { measureTruth, reliefs } from './truth.ts';

const MS = 1e6;

test('demand of the row is its hold, of the pool that and its own statements', () => {
  const of = (resource: string): number =>
    demands(hotRow()).find((demand) => demand.queue.resource === resource)!.ownNs;
  assert.equal(of('lock:campaign'), 10.02 * MS);
  assert.equal(of('pg-pool:signup'), 10.04 * MS);
  assert.equal(of('eventloop'), 0.44 * MS);
});

test('relieving the hot row raises the rate, relieving the full pool before it does not', () => {
  const [pool] = hotRow().pools;
  const ranked = reliefs({ ...hotRow(), pools: [{ ...pool, size: 3 }] }, 1500, false);
  assert.equal(ranked.length, 2);
  assert.equal(ranked[0].queue.resource, 'lock:campaign');
  assert.ok(ranked[0].elasticity > 0.7, `${ranked[0].elasticity}`);
  for (const { queue, elasticity } of ranked.slice(1)) assert.ok(Math.abs(elasticity) < 0.15, queue.resource);
});

test('the truth of a run past the knee names the row and the pool it fills', () => {
  const print = { seed: 7, family: 'lock', shape: 'plain', target: 'lock', scenario: hotRow() } as const;
  const { truth, scenario } = measureTruth(print, { requests: 1500, planned: 1500, whatIf: true });
  assert.deepEqual(truth.acceptable, ['lock:campaign']);
  assert.deepEqual(truth.chain, ['lock:campaign', 'pg-pool:signup']);
  assert.ok(Math.abs(truth.kneePerSecond / 99.8 - 1) < 0.04, `knee ${truth.kneePerSecond}`);
  assert.ok(scenario.load.steps.some((step) => step.arrivalsPerSecond > truth.kneePerSecond));
  const [half] = truth.whatIf;
  assert.equal(half.change, 'lock:campaign hold x0.5');
  assert.ok(Math.abs(half.kneePerSecond / (2 * 99.6) - 1) < 0.06, `with half the hold ${half.kneePerSecond}`);
});

test('every family has services in which its queue has the lowest rate', () => {
  const kinds: Record<Exclude<Family, 'none'>, string> = {
    admission: 'http.server',
    eventloop: 'eventloop',
    'pool-a': 'pg-pool:signup',
    'pool-b': 'pg-pool:report',
    lock: 'lock:campaign',
    downstream: 'risk-api:443',
    connection: 'connect:',
  };
  for (let seed = 0; seed < 2 * FAMILIES.length; seed++) {
    const print = blueprint(seed);
    const ranked = demands(print.scenario).sort((a, b) => a.saturatesAtPerSecond - b.saturatesAtPerSecond);
    assert.ok(ranked[0].queue.resource.startsWith(kinds[print.target]), `seed ${seed}`);
  }
});

test('the load of family none stops well below the knee', () => {
  const { load } = planLoad(blueprint(7), 100, 1000);
  const top = Math.max(...load.steps.map((step) => step.arrivalsPerSecond));
  assert.ok(top >= 50 && top <= 72, `${top}`);
});
