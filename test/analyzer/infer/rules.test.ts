import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { nestedService, type Step } from './service.ts';

const RISING: Step[] = [20, 40, 60, 80, 100, 120].map((perSecond) => ({ perSecond, seconds: 3 }));
const RECOVERY: Step = { perSecond: 20, seconds: 8, phase: 'recovery' };
/** One row held 12 ms: 83/s. The pool alone could do 5 / 14 ms = 357/s, the slots more. */
const SERVICE = { beforeMs: 2, lockedMs: 12, poolSize: 5, slots: 20 };

function near(actual: number | null | undefined, expected: number, share: number): void {
  assert.ok(actual != null && Math.abs(actual / expected - 1) <= share, `${actual} is not near ${expected}`);
}

test('rules 5 to 9: the row lock is first, and fills pool and admission', () => {
  const { verdict, resources } = analyze(nestedService([...RISING, RECOVERY], SERVICE));
  assert.equal(verdict.status, 'saturated');
  assert.deepEqual(verdict.first, {
    kind: 'lock',
    resource: 'lock:campaign',
    service: 'signup',
    instance: null,
  });
  near(verdict.kneePerSecond, 1000 / 12, 0.05);
  assert.deepEqual(
    verdict.chain.map((link) => link.resource),
    ['lock:campaign', 'pg-pool:signup', 'http.server'],
  );
  assert.equal(verdict.chain[0].share, null);
  near(verdict.chain[1].share, 1, 0.05);
  assert.deepEqual(verdict.acceptable, ['lock:campaign']);
  const lock = resources.find((row) => row.resource === 'lock:campaign');
  near(lock?.ownDemandNs, 12e6, 0.001);
  near(lock?.saturatesAtPerSecond, 1000 / 12, 0.001);
  near(lock?.windows[5].utilization, 1, 0.02);
  near(lock?.windows[0].utilization, 0.24, 0.02);
  assert.equal(lock?.busiestKey, 'k1');
  assert.equal(lock?.demandFlat, true);
  assert.match(lock?.pattern ?? '', /wait grows, hold flat/);
  const pool = resources.find((row) => row.resource === 'pg-pool:signup');
  // Waiting for the lock is not the pool's own demand.
  near(pool?.ownDemandNs, 14e6, 0.001);
  near(pool?.saturatesAtPerSecond, 5000 / 14, 0.001);
  assert.match(pool?.pattern ?? '', /follow the hold/);
});

test('rule 6: the same service below the knee is not saturated; the next queue and its rate are named', () => {
  const { verdict } = analyze(nestedService(RISING.slice(0, 3), SERVICE));
  assert.equal(verdict.status, 'not-saturated');
  assert.equal(verdict.first, null);
  assert.equal(verdict.kneePerSecond, null);
  assert.equal(verdict.next?.resource, 'lock:campaign');
  near(verdict.next?.saturatesAtPerSecond, 1000 / 12, 0.001);
});

test('rule 1: without a load plan the windows are found from the arrivals', () => {
  const { verdict, windows } = analyze(nestedService([...RISING, RECOVERY], SERVICE, false));
  assert.equal(verdict.first?.resource, 'lock:campaign');
  near(verdict.kneePerSecond, 1000 / 12, 0.06);
  assert.ok(windows.length >= 4, `${windows.length} windows`);
});

test('rule 2: capacities that are not stated come from the most in use while somebody queued', () => {
  const { resources, verdict } = analyze(
    nestedService([...RISING, RECOVERY], { ...SERVICE, capacities: false }),
  );
  assert.equal(verdict.first?.resource, 'lock:campaign');
  const pool = resources.find((row) => row.resource === 'pg-pool:signup');
  assert.equal(pool?.capacity, 5);
  assert.equal(pool?.capacityFrom, 'inferred');
});

test('one window: headroom is ranked, knee and chain are withheld', () => {
  const { verdict } = analyze(nestedService([{ perSecond: 40, seconds: 4 }], SERVICE));
  assert.equal(verdict.status, 'not-enough-load-variation');
  assert.equal(verdict.first, null);
  assert.deepEqual(verdict.chain, []);
  assert.equal(verdict.next?.resource, 'lock:campaign');
  const headroom = verdict.evidence.filter((one) => one.id === 'headroom');
  assert.deepEqual(
    headroom.map((one) => one.resource),
    ['lock:campaign', 'pg-pool:signup', 'http.server'],
  );
  near(headroom[0].values?.headroom as number, 1000 / 12 / 40, 0.01);
});

test('ten requests are not enough data, and nothing is named', () => {
  const { verdict } = analyze(nestedService([{ perSecond: 10, seconds: 1 }], SERVICE));
  assert.equal(verdict.status, 'not-enough-data');
  assert.equal(verdict.first, null);
  assert.equal(verdict.next, null);
  assert.equal(verdict.confidence.level, 'low');
});

test('an empty input is not enough data', () => {
  const { verdict, windows, resources } = analyze(nestedService([], SERVICE, false));
  assert.equal(verdict.status, 'not-enough-data');
  assert.deepEqual(windows, []);
  assert.deepEqual(resources, []);
});

test('recovery: the backlog at the fall drains at knee minus rate', () => {
  const { recovery } = analyze(nestedService([...RISING, RECOVERY], SERVICE));
  assert.ok(recovery);
  assert.equal(recovery.residual, 0);
  near(recovery.drainNs, recovery.predictedNs ?? 0, 0.15);
});

test('recovery: a load that falls in steps drains what each of them leaves of the knee', () => {
  const falling = [75, 60, 20].map((perSecond) => ({ perSecond, seconds: 2 }));
  const { recovery } = analyze(nestedService([...RISING, ...falling], SERVICE));
  assert.ok(recovery?.drainNs);
  near(recovery.drainNs, recovery.predictedNs ?? 0, 0.15);
});

test('recovery: a backlog that has not drained when the load ends took no known time', () => {
  const { recovery } = analyze(nestedService([...RISING, { perSecond: 70, seconds: 1 }], SERVICE));
  assert.ok(recovery);
  assert.equal(recovery.drainNs, null);
  assert.ok(recovery.residual > 10, `${recovery.residual}`);
});

test('what-if: a shorter hold moves the knee to the next queue', () => {
  const input = nestedService([...RISING, RECOVERY], SERVICE);
  const { verdict } = analyze(input, { whatIf: ['lock:campaign hold x0.5', 'pg-pool:signup capacity 10'] });
  const [halved, wider] = verdict.whatIf;
  assert.equal(halved.next?.resource, 'lock:campaign');
  assert.ok(halved.kneePerSecond);
  assert.ok(halved.kneePerSecond.low < 166 && halved.kneePerSecond.high > 155, JSON.stringify(halved));
  // A larger pool does not move the lock.
  assert.equal(wider.next?.resource, 'lock:campaign');
  assert.ok(wider.kneePerSecond && wider.kneePerSecond.high < 90, JSON.stringify(wider));
});

test('every number of a verdict is finite', () => {
  const { verdict, resources, windows } = analyze(nestedService([...RISING, RECOVERY], SERVICE));
  const check = (value: unknown, path: string): void => {
    if (typeof value === 'number') assert.ok(Number.isFinite(value), path);
    else if (value !== null && typeof value === 'object') {
      for (const [key, inner] of Object.entries(value)) check(inner, `${path}.${key}`);
    }
  };
  check({ verdict, resources, windows }, '');
});

test('rule 6: a row that was overloaded from the first step on is full, though its waits grow no more', () => {
  const steps = [110, 130, 150, 170].map((perSecond) => ({ perSecond, seconds: 3 }));
  const { verdict } = analyze(nestedService(steps, SERVICE));
  assert.equal(verdict.first?.resource, 'lock:campaign');
  near(verdict.kneePerSecond, 1000 / 12, 0.05);
});
