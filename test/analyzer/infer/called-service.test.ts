import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { Export, steps } from './service.ts';

const RISING = [20, 35, 50, 65, 90].map((perSecond) => ({ perSecond, seconds: 4 }));
const SERVED_MS = 20;
const ON_THE_WAY_MS = 0.4;
const SLOTS = 8;

// A service with one worker, which calls reach after they have stood in line outside of its own span.
test('calls that stand in line before the called service sees them wait for that service', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  let freeMs = 0;
  const slots: number[] = Array(SLOTS).fill(0);
  for (const [i, at] of arrivalsMs.entries()) {
    const admittedMs = Math.max(at, slots[i % SLOTS]);
    const startMs = Math.max(admittedMs + 1 + ON_THE_WAY_MS / 2, freeMs);
    freeMs = startMs + SERVED_MS;
    const endMs = freeMs + ON_THE_WAY_MS / 2;
    slots[i % SLOTS] = endMs + 1;
    const request = out.request(at, endMs + 1);
    request.wait('admission_wait', 'http.server', at, admittedMs, {
      capacity: SLOTS,
      heldMs: endMs + 1 - admittedMs,
    });
    request.served('price', startMs, freeMs, request.call('GET', '10.0.0.7', admittedMs + 1, endMs));
  }
  const { verdict, resources } = analyze(out.plan(plan).input());
  assert.equal(verdict.status, 'saturated');
  assert.equal(verdict.first?.resource, 'price');
  const price = resources.find(({ resource }) => resource === 'price')!;
  assert.ok(Math.abs(price.ownDemandNs! / 1e6 - SERVED_MS) < 1, `${price.ownDemandNs}`);
  assert.ok(Math.abs(verdict.kneePerSecond! / (1000 / SERVED_MS) - 1) < 0.1, `${verdict.kneePerSecond}`);
  const chain = verdict.chain.map(({ resource }) => resource);
  assert.deepEqual(chain, ['price', 'http.server']);
  assert.ok(verdict.chain[1].share! > 0.9, `${verdict.chain[1].share}`);
});
