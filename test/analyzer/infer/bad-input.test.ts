import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Analysis, analyze } from '../../../analyzer/src/infer/analysis.ts';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { Export, nestedService, type Step, steps } from './service.ts';

const SERVICE = { beforeMs: 2, lockedMs: 12, poolSize: 5, slots: 50 };
const RISING: Step[] = [20, 40, 60, 80, 100, 120].map((perSecond) => ({ perSecond, seconds: 3 }));

/** Every answer must hold numbers or null: NaN and Infinity are wrong answers. */
function analyzed(input: Input): Analysis {
  const analysis = analyze(input);
  const { verdict, windows, resources, recovery } = analysis;
  const check = (value: unknown, path: string): void => {
    if (typeof value === 'number') assert.ok(Number.isFinite(value), `${path} is ${value}`);
    else if (typeof value === 'string') assert.doesNotMatch(value, /NaN|Infinity|undefined/, path);
    else if (value !== null && typeof value === 'object') {
      for (const [key, inner] of Object.entries(value)) check(inner, `${path}.${key}`);
    }
  };
  check({ verdict, windows, resources, recovery }, 'answer');
  return analysis;
}

test('no request at all', () => {
  const { verdict } = analyzed(new Export().input());
  assert.equal(verdict.status, 'not-enough-data');
  assert.match(verdict.confidence.reasons[0], /no request/);
});

test('one request', () => {
  const out = new Export();
  out.request(0, 10).wait('pool_wait', 'pg-pool:a', 1, 5, { capacity: 2, heldMs: 4 });
  const { verdict } = analyzed(out.input());
  assert.equal(verdict.status, 'not-enough-data');
  assert.equal(verdict.first, null);
});

test('all requests failed', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const at of arrivalsMs) {
    out
      .request(at, at + 5, { failed: true, status: 503 })
      .wait('admission_wait', 'http.server', at, at, { capacity: 4, outcome: 'rejected' });
  }
  const { verdict } = analyzed(out.plan(plan).input());
  assert.equal(verdict.status, 'not-enough-data');
  assert.match(verdict.confidence.reasons[0], /all 1260 requests failed/);
});

test('requests without anything inside', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const at of arrivalsMs) out.request(at, at + 5);
  const { verdict } = analyzed(out.plan(plan).input());
  assert.equal(verdict.first, null);
  assert.notEqual(verdict.status, 'saturated');
});

test('all requests start at the same instant', () => {
  const out = new Export();
  for (let i = 0; i < 100; i++)
    out.request(0, 10 + i).wait('pool_wait', 'pg-pool:a', 0, i, { capacity: 1, heldMs: 1 });
  const { verdict } = analyzed(out.input());
  assert.equal(verdict.first, null);
});

test('requests of zero length', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const at of arrivalsMs)
    out.request(at, at).wait('pool_wait', 'pg-pool:a', at, at, { capacity: 1, heldMs: 0 });
  const { verdict } = analyzed(out.plan(plan).input());
  assert.equal(verdict.status, 'not-saturated');
});

test('a clock that jumps by an hour in the middle', () => {
  const out = new Export();
  for (let i = 0; i < 300; i++) {
    const at = i * 20 + (i < 150 ? 0 : 3_600_000);
    out.request(at, at + 8).wait('pool_wait', 'pg-pool:a', at, at + 1, { capacity: 2, heldMs: 6 });
  }
  const { verdict } = analyzed(out.input());
  assert.notEqual(verdict.status, 'saturated');
});

test('a stated capacity below what was in use is not believed', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const at of arrivalsMs) {
    out.request(at, at + 8).wait('pool_wait', 'pg-pool:a', at, at + 1, { capacity: 2, inUse: 6, heldMs: 6 });
  }
  const { verdict, resources } = analyzed(out.plan(plan).input());
  assert.equal(resources.find((row) => row.resource === 'pg-pool:a')?.capacity, 6);
  const finding = verdict.findings.find((one) => one.id === 'capacity-contradicts');
  assert.match(finding?.text ?? '', /states capacity 2, yet 6 were in use/);
});

test('row locks without keys that overlap are several rows: capacity unknown, never named', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const at of arrivalsMs) {
    out.request(at, at + 40).wait('lock_wait', 'lock:orders', at, at + 1, { capacity: 1, heldMs: 38 });
  }
  const { verdict, resources } = analyzed(out.plan(plan).input());
  const row = resources.find((one) => one.resource === 'lock:orders');
  assert.equal(row?.capacity, null);
  assert.equal(row?.capacityFrom, 'unknown');
  assert.notEqual(verdict.first?.resource, 'lock:orders');
  assert.match(verdict.findings.map((one) => one.text).join(), /no waitfall\.lock\.key/);
});

test('hold spans without a valid end are left out, and counted', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const [i, at] of arrivalsMs.entries()) {
    const request = out.request(at, at + 8);
    request.hold('pg-pool:a', at, i % 10 === 0 ? at - 5 : at + 6, 4);
  }
  const { verdict } = analyzed(out.plan(plan).input());
  assert.match(verdict.findings.map((one) => one.text).join(), /126 holds have no valid end/);
});

test('orphan trees stand in where no trace has a true root, and that is said', () => {
  const input = nestedService(RISING, SERVICE);
  const { table } = input;
  // Every span gets a parent that is not in the input.
  for (let row = 0; row < table.length; row++) {
    if (table.flags[row] & 64) {
      table.flags[row] &= ~64;
      table.parentHi[row] = 0xdead0000;
      table.parentLo[row] = row + 1;
    }
  }
  const { verdict } = analyzed(input);
  assert.match(verdict.confidence.reasons.join(), /orphan trees were used/);
  assert.notEqual(verdict.confidence.level, 'high');
});

test('a plan of steps that nobody arrived in', () => {
  const { plan } = steps([
    { perSecond: 20, seconds: 5 },
    { perSecond: 200, seconds: 5 },
  ]);
  const out = new Export();
  for (let i = 0; i < 100; i++)
    out
      .request(i * 50, i * 50 + 10)
      .wait('pool_wait', 'pg-pool:a', i * 50, i * 50 + 1, { capacity: 2, heldMs: 5 });
  const { verdict } = analyzed(out.plan(plan).input());
  assert.equal(verdict.first, null);
});
