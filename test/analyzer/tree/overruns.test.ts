import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dump } from './dump.ts';
import { BASE, type TestSpan } from './spans.ts';

const root: TestSpan = { id: '1', name: 'root', start: 0, end: 100 };

test('rule 6: starts floored to whole milliseconds make a child outlive its parent: clamped', () => {
  const spans = [
    { id: '1', name: 'parent', start: 10, end: 19.1 },
    { id: '2', parent: '1', name: 'child', start: 12, end: 19.7 },
  ];
  assert.deepEqual(dump(spans), ['true: parent [0,9.1) 2', '  child [2,9.1) 7.1', 'clamped 1']);
});

test('rule 6: an overrun of exactly the tolerance is clamped, one of a nanosecond more is not', () => {
  const child = (end: number) => [root, { id: '2', parent: '1', name: 'child', start: 50, end }];
  assert.deepEqual(dump(child(101)), ['true: root [0,100) 50', '  child [50,100) 50', 'clamped 1']);
  assert.deepEqual(dump(child(101.000001)).slice(0, 2), ['true: root [0,100) 100', 'detached: child']);
  assert.deepEqual(dump(child(100.001), { toleranceNs: 0 }).slice(0, 2), [
    'true: root [0,100) 100',
    'detached: child',
  ]);
});

test('rule 6: recorded ends are compared, not clamped ones, so that small overruns do not add up', () => {
  const spans = [
    root,
    { id: '2', parent: '1', name: 'a', start: 0, end: 100.8 },
    { id: '3', parent: '2', name: 'b', start: 10, end: 101.6 },
    { id: '4', parent: '3', name: 'c', start: 20, end: 102.4 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 0',
    '  a [0,100) 10',
    '    b [10,100.8) 10',
    '      c [20,101.6) 80',
    'clamped 3',
  ]);
});

test('rule 6: a child that starts after its parent ended keeps its start and owns nothing', () => {
  const spans = [root, { id: '2', parent: '1', name: 'late', start: 100.2, end: 100.8 }];
  assert.deepEqual(dump(spans), ['true: root [0,100) 100', '  late [100.2,100.2) 0', 'clamped 1']);
});

test('rule 7a: a server that outlives the client that called it is cut, the rest is abandoned', () => {
  const spans: TestSpan[] = [
    root,
    { id: '2', parent: '1', name: 'call', kind: 'client', start: 10, end: 60 },
    { id: '3', parent: '2', name: 'serve', kind: 'server', start: 12, end: 90 },
    { id: '4', parent: '3', name: 'query', start: 20, end: 85 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 50',
    '  call [10,60) 2',
    '    serve [12,60) 8',
    '      query [20,85) 40',
    'abandoned 1',
    'abandonedNs 30',
  ]);
});

test('rule 7a: a retry whose first server outlives the timeout of the client', () => {
  const spans: TestSpan[] = [
    root,
    { id: '2', parent: '1', name: 'try 1', kind: 'client', error: true, service: 'web', start: 0, end: 40 },
    { id: '3', parent: '2', name: 'slow', kind: 'server', service: 'api', start: 5, end: 95 },
    { id: '4', parent: '1', name: 'try 2', kind: 'client', service: 'web', start: 50, end: 70 },
    { id: '5', parent: '4', name: 'fast', kind: 'server', service: 'api', start: 52, end: 68 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 40',
    '  try 1 [0,40) 5',
    '    slow [5,40) 35',
    '  try 2 [50,70) 4',
    '    fast [52,68) 16',
    'abandoned 1',
    'abandonedNs 55',
  ]);
});

test('rule 7b: waits that go on after an aborted request stay waits', () => {
  const wait = (resource: string) => ({ 'waitfall.segment': 'pool_wait', 'waitfall.resource': resource });
  const spans: TestSpan[] = [
    { ...root, kind: 'server', attributes: { 'waitfall.outcome': 'aborted' } },
    { id: '2', parent: '1', name: 'pool', attributes: wait('pg-pool:a'), start: 10, end: 140 },
    { id: '3', parent: '1', name: 'lock', attributes: wait('lock:t'), start: 150, end: 170 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 10',
    '  pool [10,100) 90',
    '  lock [150,150) 0',
    'abandoned 2',
    'abandonedNs 60',
  ]);
});

test('rule 7b: what ended early is said by status, error.type, outcome or HTTP 499', () => {
  const late = { id: '2', parent: '1', name: 'child', start: 10, end: 140 };
  const early: Partial<TestSpan>[] = [
    { error: true },
    { attributes: { 'error.type': 'TimeoutError' } },
    { attributes: { 'waitfall.outcome': 'timeout' } },
    { attributes: { 'waitfall.outcome': 'rejected' } },
    { attributes: { 'waitfall.outcome': 'aborted' } },
    { attributes: { 'http.response.status_code': 499 } },
    { attributes: { 'http.status_code': '499' } },
  ];
  for (const how of early) assert.ok(dump([{ ...root, ...how }, late]).includes('abandoned 1'));
  const late404 = { 'http.response.status_code': 404 };
  for (const how of [{}, { attributes: { 'waitfall.outcome': 'acquired' } }, { attributes: late404 }]) {
    assert.ok(dump([{ ...root, ...how }, late]).includes('detached 1'));
  }
});

test('rule 7b comes before 7c: a consumer below a failed parent is cut, not detached', () => {
  const spans: TestSpan[] = [
    { ...root, error: true },
    { id: '2', parent: '1', name: 'consume', kind: 'consumer', start: 90, end: 140 },
  ];
  assert.deepEqual(dump(spans).slice(1), ['  consume [90,100) 10', 'abandoned 1', 'abandonedNs 40']);
});

test('rule 7c: a consumer that ends late is detached even where a further ancestor covers it', () => {
  const spans: TestSpan[] = [
    root,
    { id: '2', parent: '1', name: 'publish', kind: 'producer', start: 10, end: 20 },
    { id: '3', parent: '2', name: 'consume', kind: 'consumer', start: 15, end: 80 },
    { id: '4', parent: '3', name: 'its query', start: 15, end: 18 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 90',
    '  publish [10,20) 10',
    'detached: consume its query',
    'detached 1',
    'detachedNs 65',
  ]);
});

test('rule 7c: so is what only follows from its parent', () => {
  const spans: TestSpan[] = [
    root,
    { id: '2', parent: '1', name: 'task', start: 10, end: 20 },
    { id: '3', parent: '2', name: 'audit', followsFrom: true, start: 15, end: 80 },
  ];
  assert.deepEqual(dump(spans).slice(-3), ['detached: audit', 'detached 1', 'detachedNs 65']);
});

test('rule 7c: a consumer that ends inside stays, clipped where it started too early', () => {
  const spans: TestSpan[] = [
    root,
    { id: '2', parent: '1', name: 'consume', kind: 'consumer', start: -5, end: 80 },
  ];
  assert.deepEqual(dump(spans), ['true: root [0,100) 20', '  consume [-5,80) 80']);
});

test('rule 7d: a child that outlives its parent is adopted by the nearest ancestor that covers it', () => {
  const spans = [
    root,
    { id: '2', parent: '1', name: 'handler', start: 0, end: 95 },
    { id: '3', parent: '2', name: 'validate', start: 5, end: 10 },
    { id: '4', parent: '3', name: 'query', start: 8, end: 60 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 5',
    '  handler [0,95) 40',
    '    validate [5,10) 3',
    '    query [8,60) 52',
    'adopted 1',
  ]);
});

test('rule 7d: the adopter covers with its tolerance, and what is over is clamped', () => {
  const spans = [
    root,
    { id: '2', parent: '1', name: 'handler', start: 0, end: 10 },
    { id: '3', parent: '2', name: 'query', start: 5, end: 100.5 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 0',
    '  handler [0,10) 5',
    '  query [5,100) 95',
    'clamped 1',
    'adopted 1',
  ]);
});

test('rule 7d: of ancestors that end a nanosecond apart, the nearest that just covers adopts', () => {
  const spans = [
    root,
    { id: '2', parent: '1', name: 'b', start: 0, end: 50.000001 },
    { id: '3', parent: '2', name: 'c', start: 0, end: 50 },
    { id: '4', parent: '3', name: 'query', start: 40, end: 51.000001 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 49.999999',
    '  b [0,50.000001) 0',
    '    c [0,50) 40',
    '    query [40,50.000001) 10.000001',
    'clamped 1',
    'adopted 1',
  ]);
});

test('rule 7d: children of an adopted span are compared with it, not with its old parent', () => {
  const spans = [
    root,
    { id: '2', parent: '1', name: 'handler', start: 0, end: 10 },
    { id: '3', parent: '2', name: 'outer', start: 5, end: 70 },
    { id: '4', parent: '3', name: 'inner', start: 20, end: 90 },
    { id: '5', parent: '4', name: 'leaf', start: 30, end: 40 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 10',
    '  handler [0,10) 5',
    '  outer [5,70) 15',
    '  inner [20,90) 60',
    '    leaf [30,40) 10',
    'adopted 2',
  ]);
});

test('rule 7e: fire and forget gated nobody; the awaited sibling keeps its time', () => {
  const spans = [
    { id: '1', name: 'root', start: 1000, end: 1100 },
    { id: '2', parent: '1', name: 'forgotten', start: 1010, end: 1200 },
    { id: '3', parent: '2', name: 'below it', start: 1020, end: 1300 },
    { id: '4', parent: '1', name: 'awaited', start: 1010, end: 1090 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 20',
    '  awaited [10,90) 80',
    'detached: forgotten below it',
    'detached 1',
    'detachedNs 190',
  ]);
});

test('rule 7e: losers of a Promise.race that outlive the root are detached, others are clipped by rank', () => {
  const spans = [
    root,
    { id: '2', parent: '1', name: 'winner', start: 0, end: 60 },
    { id: '3', parent: '1', name: 'slow loser', start: 0, end: 300 },
    { id: '4', parent: '1', name: 'loser', start: 0, end: 80 },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 20',
    '  winner [0,60) 0',
    '  loser [0,80) 80',
    'detached: slow loser',
    'detached 1',
    'detachedNs 300',
  ]);
});

test('a consumer days later is no latency of the request', () => {
  const days = 3n * 86_400n * 1_000_000_000n;
  const spans: TestSpan[] = [
    root,
    { id: '2', parent: '1', name: 'publish', kind: 'producer', start: 10, end: 20 },
    {
      id: '3',
      parent: '2',
      name: 'consume',
      kind: 'consumer',
      start: BASE + days,
      end: BASE + days + 1_000_000n,
    },
  ];
  assert.deepEqual(dump(spans), [
    'true: root [0,100) 90',
    '  publish [10,20) 10',
    'detached: consume',
    'detached 1',
    'detachedNs 1',
  ]);
});

test('many late children below a deep chain find their adopters in reasonable time', () => {
  const depth = 20_000;
  const chain: TestSpan[] = Array.from({ length: depth }, (_, i) => ({
    id: (i + 1).toString(16),
    parent: i === 0 ? undefined : i.toString(16),
    start: 0,
    end: 10 * (depth - i),
  }));
  const late: TestSpan[] = Array.from({ length: depth }, (_, i) => ({
    id: (depth + i + 1).toString(16),
    parent: depth.toString(16),
    start: 0,
    end: 10 * depth - 5,
  }));
  const lines = dump([...chain, ...late]);
  assert.ok(lines.includes(`adopted ${depth}`));
});
