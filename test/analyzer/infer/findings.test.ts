import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import type { Statement } from '../../../analyzer/src/infer/types.ts';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { Export, nestedService, type Step, steps } from './service.ts';

const RISING: Step[] = [20, 40, 60, 80, 100, 120].map((perSecond) => ({ perSecond, seconds: 3 }));

function finding(input: Input, id: string): Statement | undefined {
  return analyze(input).verdict.findings.find((one) => one.id === id);
}

/** Requests of 10 ms at rising rates; `write` adds what the case is about. */
function service(
  write: (request: ReturnType<Export['request']>, at: number, i: number) => void,
  list: readonly Step[] = RISING,
): Input {
  const out = new Export();
  const { arrivalsMs, plan } = steps(list);
  for (const [i, at] of arrivalsMs.entries()) write(out.request(at, at + 10), at, i);
  return out.plan(plan).input();
}

test('a healthy service has no findings', () => {
  const input = service((request, at) => {
    request.wait('pool_wait', 'pg-pool:a', at, at, { capacity: 10, heldMs: 8 });
    request.call('SELECT', 'db', at + 1, at + 9);
  });
  assert.deepEqual(analyze(input).verdict.findings, []);
});

test('holds that outlive the acquire timeout', () => {
  const input = service((request, at, i) => {
    if (i % 20 === 0) request.wait('pool_wait', 'pg-pool:a', at, at + 5, { capacity: 9, outcome: 'timeout' });
    else request.wait('pool_wait', 'pg-pool:a', at, at + 1, { capacity: 9, heldMs: i % 4 === 0 ? 6 : 2 });
  });
  const found = finding(input, 'holds-outlive-timeout');
  assert.match(found?.text ?? '', /acquire timeout of 5 ms/);
  assert.match(
    finding(input, 'waits-censored')?.text ?? '',
    /63 waits on pg-pool:a \(5 %\) ended by timeout/,
  );
  assert.ok(Math.abs((found?.values?.share as number) - 0.21) < 0.03, `${found?.values?.share}`);
});

test('an outer queue larger than the inner one it feeds', () => {
  const found = finding(
    nestedService(RISING, { beforeMs: 2, lockedMs: 12, poolSize: 5, slots: 20 }),
    'outer-larger-than-inner',
  );
  assert.match(found?.text ?? '', /http\.server admits 20 requests while pg-pool:signup serves 5: up to 15/);
});

test('visits that grow with load are retries', () => {
  const input = service((request, at) => {
    const attempts = at > 9000 ? 2 : 1;
    for (let a = 0; a < attempts; a++) request.call('GET /risk', 'risk', at + 1 + 4 * a, at + 4 + 4 * a);
  });
  const found = finding(input, 'visits-grow-with-load');
  assert.match(found?.text ?? '', /retries x 2 a request/);
});

test('cost that grows with load', () => {
  const input = service((request, at) => {
    request.wait('pool_wait', 'pg-pool:a', at, at, { capacity: 10, heldMs: at < 6000 ? 4 : 8 });
  });
  assert.match(finding(input, 'cost-grows-with-load')?.text ?? '', /own demand x 1\.\d+ before the knee/);
});

test('demand that drifts with time at an even rate', () => {
  const input = service(
    (request, at) =>
      request.wait('pool_wait', 'pg-pool:a', at, at, { capacity: 10, heldMs: at < 6000 ? 4 : 6 }),
    [
      { perSecond: 50, seconds: 6 },
      { perSecond: 50, seconds: 6 },
      { perSecond: 80, seconds: 3 },
    ],
  );
  assert.match(finding(input, 'demand-drifts')?.text ?? '', /4 ms to 6 ms a request \(\+50 %\)/);
});

test('a queue without waiting room loses instead', () => {
  const input = service((request, at, i) => {
    const full = at > 12000 && i % 3 === 0;
    request.wait(
      'admission_wait',
      'http.server',
      at,
      at,
      full ? { capacity: 1, outcome: 'rejected' } : { capacity: 1, heldMs: 10 },
    );
  });
  const { verdict } = analyze(input);
  assert.match(
    verdict.findings.find((one) => one.id === 'loses-without-waiting')?.text ?? '',
    /up to 33\.3 % of the arrivals were refused/,
  );
  assert.equal(verdict.first?.resource, 'http.server');
});

test('work that goes on for a request that failed', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const [i, at] of arrivalsMs.entries()) {
    const failed = i % 10 === 0;
    out
      .request(at, at + 10, { failed })
      .wait('pool_wait', 'pg-pool:a', at, at, { capacity: 20, heldMs: failed ? 60 : 8 });
  }
  assert.match(
    finding(out.plan(plan).input(), 'wasted-work')?.text ?? '',
    /126 holds of pg-pool:a went on for 50 ms/,
  );
});

test('one process of several takes more than its share', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const [i, at] of arrivalsMs.entries()) {
    const instance = i % 4 === 3 ? 'b' : 'a';
    out.request(at, at + 10, { instance }).wait('pool_wait', 'pg-pool:a', at, at, { capacity: 4, heldMs: 8 });
  }
  const { verdict, resources } = analyze(out.plan(plan).input());
  assert.match(
    verdict.findings.find((one) => one.id === 'hot-instance')?.text ?? '',
    /^a takes 1\.5 times the mean demand/,
  );
  const row = resources.find((one) => one.resource === 'pg-pool:a');
  assert.equal(row?.instances, 2);
  assert.equal(row?.capacity, 8);
  // 4 servers of 8 ms in the hot process, which takes three of four requests.
  assert.ok(
    Math.abs(row!.saturatesAtPerSecond! / (4 / 0.008 / 0.75) - 1) < 0.01,
    `${row?.saturatesAtPerSecond}`,
  );
});

test('requests the generator sent and the export does not hold', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const [i, at] of arrivalsMs.entries()) {
    if (at > 12000 && i % 3 === 0) continue;
    out.request(at, at + 10).wait('pool_wait', 'pg-pool:a', at, at, { capacity: 4, heldMs: 8 });
  }
  assert.match(
    finding(out.plan(plan).input(), 'sent-not-received')?.text ?? '',
    /step of 100\/s: 300 planned, 200 in the export \(33.3 % missing/,
  );
});

test('a closed loop is recognised by what its arrivals see', () => {
  const out = new Export();
  let random = 7;
  const next = () => {
    random = (random * 48271) % 2147483647;
    return random / 2147483647;
  };
  // Ten users, 10 ms of service one at a time, thinking 30 ms on average.
  const users = Array.from({ length: 10 }, () => -30 * Math.log(next()));
  let free = 0;
  const starts: { at: number; done: number }[] = [];
  for (let i = 0; i < 1500; i++) {
    const user = users.indexOf(Math.min(...users));
    const at = users[user];
    free = Math.max(free, at) + 10;
    starts.push({ at, done: free });
    users[user] = free - 30 * Math.log(next());
  }
  for (const { at, done } of starts) out.request(at, done).work(done - 10, done);
  assert.match(finding(out.input(), 'closed-loop')?.text ?? '', /arrivals follow completions/);
});

test('an open load is not taken for a closed one', () => {
  const out = new Export();
  let random = 11;
  const next = () => {
    random = (random * 48271) % 2147483647;
    return random / 2147483647;
  };
  let at = 0;
  let free = 0;
  for (let i = 0; i < 1500; i++) {
    at -= 14 * Math.log(next());
    free = Math.max(free, at) + 10;
    out.request(at, free).work(free - 10, free);
  }
  assert.equal(finding(out.input(), 'closed-loop'), undefined);
});

test('trees whose callers are missing are said to be left out, and make the answer less sure', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const [i, at] of arrivalsMs.entries()) {
    out
      .request(at, at + 10, i % 10 === 0 ? { route: 'GET /health' } : { caller: 'a'.repeat(16) })
      .wait('pool_wait', 'pg-pool:a', at, at, { capacity: 9, heldMs: 8 });
  }
  const { verdict } = analyze(out.plan(plan).input());
  const found = verdict.findings.find(({ id }) => id === 'orphans-left-out');
  assert.match(found?.text ?? '', /^1134 trees .* 126 under none/);
  assert.equal(verdict.confidence.level, 'low');
});

test('time nobody accounts for is said', () => {
  const input = service((request, at) =>
    request.wait('pool_wait', 'pg-pool:a', at, at + 1, { capacity: 9, heldMs: 2 }),
  );
  assert.match(finding(input, 'low-coverage')?.text ?? '', /90 % of the request time is unaccounted/);
});

test('a CPU profile: the widest functions by route, by the time they took', () => {
  const input = service((request, at) => {
    const of = (...functions: string[]): [string, string[]][] => [['waitfall.cpu.functions', functions]];
    request.work(at, at + 6, undefined, of('0.90 parse rules.ts:8', '0.10 accept rules.ts:20'));
    request.work(at + 6, at + 8, undefined, of('1.00 render page.ts:3'));
  });
  const found = finding(input, 'widest-functions');
  assert.equal(found?.text, 'CPU time of POST /signup: 67.5 % in parse rules.ts:8, 25 % in render page.ts:3');
});

/** Requests of 10 ms and, every twentieth, one of a route that lasts `ms`; `write` adds what the long ones do. */
function withLongRoute(
  ms: number,
  write: (request: ReturnType<Export['request']>, at: number) => void = () => {},
): Input {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const [i, at] of arrivalsMs.entries()) {
    if (i % 20 === 0) write(out.request(at, at + ms, { route: 'GET /events' }), at);
    else out.request(at, at + 10).wait('pool_wait', 'pg-pool:a', at, at, { capacity: 10, heldMs: 8 });
  }
  return out.plan(plan).input();
}

test('a stream that is all of p99', () => {
  const found = finding(withLongRoute(8000), 'stream-dominates');
  assert.match(
    found?.text ?? '',
    /^GET \/events stays open .* its 63 requests last 8 s \(median\), 100 % of it neither waiting nor computing\. They are 100 % of the slowest hundredth .* \(p99 8 s, without them 10 ms\); .* --route "POST \/signup"$/,
  );
  assert.equal(found?.values?.p99WithoutNs, 10e6);
});

test('a long request is no stream where it waits, works, calls or is not long', () => {
  const others: [number, Parameters<typeof withLongRoute>[1]][] = [
    [8000, (request, at) => request.wait('pool_wait', 'pg-pool:a', at, at + 2000, { heldMs: 1 })],
    [8000, (request, at) => request.work(at, at + 2000)],
    [8000, (request, at) => request.call('SELECT', 'db', at, at + 4000)],
    [900, () => {}],
  ];
  for (const [ms, write] of others)
    assert.equal(finding(withLongRoute(ms, write), 'stream-dominates'), undefined);
});

test('a service of streams alone, and one whose answers are as slow, have none that dominates', () => {
  const out = new Export();
  const { arrivalsMs, plan } = steps(RISING);
  for (const at of arrivalsMs) out.request(at, at + 8000, { route: 'GET /events' });
  assert.equal(finding(out.plan(plan).input(), 'stream-dominates'), undefined);
  const slow = new Export();
  for (const [i, at] of arrivalsMs.entries())
    slow.request(at, at + (i % 20 === 0 ? 8000 : 4000), { route: i % 20 === 0 ? 'GET /events' : 'GET /' });
  assert.equal(finding(slow.plan(plan).input(), 'stream-dominates'), undefined);
});

test('a pool that was resized while it ran', () => {
  const input = service((request, at) => {
    request.wait('pool_wait', 'pg-pool:a', at, at, { capacity: at < 6000 ? 8 : 4, heldMs: 8 });
  });
  assert.match(
    finding(input, 'capacity-changed')?.text ?? '',
    /^pg-pool:a states between 4 and 8 servers in one process/,
  );
});
