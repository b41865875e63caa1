import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { Export, type Step, steps } from './service.ts';

/** Each request opens a connection; a door that nobody sees lets one in every 20 ms, and greets it for 5 ms. */
function behindADoor(list: readonly Step[]): Export {
  const out = new Export();
  const { arrivalsMs, plan } = steps(list);
  let openAtMs = 0;
  for (const atMs of arrivalsMs) {
    openAtMs = Math.max(openAtMs, atMs) + 20;
    const readyMs = openAtMs + 5;
    const request = out.request(atMs, readyMs + 4);
    request.wait('pool_wait', 'pg-pool:a', atMs, atMs, { capacity: 500, heldMs: readyMs + 3 - atMs });
    request.wait('connection_wait', 'connect:pg-pool:a', atMs, readyMs);
    request.call('SELECT', 'db', readyMs, readyMs + 3);
  }
  return out.plan(plan);
}

const stepsOf = (rates: readonly number[]): Step[] => rates.map((perSecond) => ({ perSecond, seconds: 3 }));

test('connections that come no faster however many are asked for: the door is named, though nobody states it', () => {
  const { verdict } = analyze(behindADoor(stepsOf([12, 20, 30, 60, 80])).input());
  assert.equal(verdict.first?.kind, 'connection');
  assert.equal(verdict.first?.resource, 'connect:pg-pool:a');
  assert.ok(Math.abs((verdict.kneePerSecond ?? 0) - 50) < 8, `${verdict.kneePerSecond}/s`);
});

test('below what the door lets in, it is no bottleneck', () => {
  const { verdict } = analyze(behindADoor(stepsOf([12, 20, 25, 30, 35])).input());
  assert.equal(verdict.first, null);
});

test('below it, the servers of a gate nobody states are counted from how connections slow down together', () => {
  let state = 7;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const out = new Export();
  const { plan } = steps(stepsOf([20, 30, 40, 50, 60]));
  const freeMs = [0, 0];
  let asksMs = 0;
  for (const rate of [20, 30, 40, 50, 60]) {
    const untilMs = asksMs - (asksMs % 3000) + 3000;
    while (asksMs < untilMs) {
      asksMs -= (Math.log(1 - random()) * 1000) / rate;
      // Two at once of 15 to 25 ms each: the gate takes 100/s.
      const at = freeMs[0] <= freeMs[1] ? 0 : 1;
      freeMs[at] = Math.max(freeMs[at], asksMs) + 15 + 10 * random();
      const request = out.request(asksMs, freeMs[at] + 4);
      request.wait('connection_wait', 'connect:pg-pool:a', asksMs, freeMs[at]);
      request.call('SELECT', 'db', freeMs[at], freeMs[at] + 3);
    }
  }
  const { verdict, resources } = analyze(out.plan(plan).input());
  assert.equal(verdict.first, null);
  const row = resources.find((one) => one.resource === 'connect:pg-pool:a');
  assert.equal(row?.capacity, 2);
  assert.ok(Math.abs(row!.saturatesAtPerSecond! / 100 - 1) < 0.1, `${row?.saturatesAtPerSecond}/s`);
});
