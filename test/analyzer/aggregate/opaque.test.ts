import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallList } from '../../../analyzer/src/aggregate/call-list.ts';
import {
  type BusyServers,
  fitHiddenCapacity,
  type HiddenCapacity,
} from '../../../analyzer/src/aggregate/hidden-servers.ts';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { Export, type Step, steps } from '../infer/service.ts';

const NO_BOUND = { least: 1, most: Number.POSITIVE_INFINITY };

/** Calls of 10 ms to FIFO servers, in bursts so that some find others in flight. */
function calls(servers: number): CallList {
  const free = Array(servers).fill(0);
  const out = new CallList();
  for (let i = 0; i < 400; i++) {
    const startNs = (Math.floor(i / 5) * 60 + (i % 5)) * 1e6;
    const at = free.indexOf(Math.min(...free));
    const begin = Math.max(startNs, free[at]);
    free[at] = begin + 10e6;
    out.push({
      queue: 0,
      request: 0,
      row: i,
      startNs,
      endNs: free[at],
      durationNs: free[at] - startNs,
      operation: 0,
      failed: false,
    });
  }
  return out;
}

/** The fit for calls that cost 10 ms each. */
function fitOf(list: CallList, bound: BusyServers = NO_BOUND): HiddenCapacity | null {
  const excess = Float64Array.from(list.map((call) => call.durationNs - 10e6));
  return fitHiddenCapacity(list, Int32Array.from(excess.keys()), excess, 10e6, () => true, bound);
}

for (const servers of [1, 2, 3]) {
  test(`rule 3: ${servers} hidden servers are counted from how calls slow down`, () => {
    const fit = fitOf(calls(servers));
    assert.equal(fit?.servers, servers);
    assert.ok(fit.r2 > 0.55, `${fit.r2}`);
  });
}

test('rule 3: a call that a coarse clock gives no length hides no server from those after it', () => {
  const list = [...calls(2)];
  const first = { ...list[0], startNs: -5e6, endNs: -5e6, durationNs: 0 };
  const fit = fitOf(CallList.from([first, ...list]));
  assert.equal(fit?.servers, 2);
});

test('rule 3: servers that did the work of three are not fewer', () => {
  assert.equal(fitOf(calls(2), { least: 3, most: 9 })?.servers, 3);
});

test('rule 3: calls that never slow down have no hidden capacity', () => {
  const even = calls(8).map((call) => ({ ...call, endNs: call.startNs + 10e6, durationNs: 10e6 }));
  const fit = fitOf(CallList.from(even));
  assert.ok(fit === null || fit.r2 <= 0.55);
});

/** One remote server of 10 ms a call behind nothing: 100/s. */
function remote(list: readonly Step[]) {
  const out = new Export();
  const { arrivalsMs, plan } = steps(list);
  let free = 0;
  for (const [i, at] of arrivalsMs.entries()) {
    // Arrivals come in threes: even arrivals to an even server never queue below the knee.
    const start = Math.floor(i / 3) * 3 < arrivalsMs.length ? arrivalsMs[Math.floor(i / 3) * 3] : at;
    const begin = Math.max(start, free);
    free = begin + 10;
    const request = out.request(start, free + 1);
    request.work(start, start + 0.2);
    request.call('GET /risk', 'risk-api', start + 0.2, free + 0.2);
  }
  return out.plan(plan).input();
}

test('rules 3, 6, 7: a remote server of unknown capacity saturates first', () => {
  const { verdict, resources } = analyze(
    remote([20, 40, 60, 80, 110, 130].map((perSecond) => ({ perSecond, seconds: 4 }))),
  );
  assert.equal(verdict.first?.resource, 'risk-api');
  assert.equal(verdict.first?.kind, 'downstream');
  assert.ok(Math.abs(verdict.kneePerSecond! / 100 - 1) < 0.06, `${verdict.kneePerSecond}`);
  const row = resources.find((one) => one.resource === 'risk-api');
  assert.equal(row?.capacity, 1);
  assert.equal(row?.capacityFrom, 'inferred');
});

test('rule 3: excess is signed, so that at low load it is 0 on average', () => {
  const out = new Export();
  for (let i = 0; i < 200; i++) {
    const request = out.request(i * 20, i * 20 + 15);
    request.call('GET /x', 'x', i * 20 + 1, i * 20 + (i % 2 === 0 ? 5 : 9));
  }
  const { resources } = analyze(out.input());
  const row = resources.find((one) => one.resource === 'x');
  assert.ok(Math.abs(row?.windows[0].meanWaitNs ?? 1) < 1, `${row?.windows[0].meanWaitNs}`);
});
