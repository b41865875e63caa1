import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dump } from './dump.ts';
import { BASE, type TestSpan } from './spans.ts';

const call: TestSpan = { id: '1', name: 'call', kind: 'client', service: 'web', start: 0, end: 100 };
const served = (start: number, end: number): TestSpan[] => [
  { id: '2', parent: '1', name: 'serve', kind: 'server', service: 'stock', start, end },
];

test('a server span that starts early moves right, with its subtree, until it is inside', () => {
  const spans: TestSpan[] = [
    call,
    ...served(-40, 40),
    { id: '3', parent: '2', name: 'select', kind: 'client', service: 'stock', start: -30, end: 30 },
    { id: '4', parent: '3', name: 'leaf', service: 'stock', start: -10, end: 0 },
  ];
  assert.deepEqual(dump(spans), [
    'true: call [0,100) 20',
    '  serve [0,80) 20',
    '    select [10,70) 50',
    '      leaf [30,40) 10',
    'skew web -> stock 1 x 40',
  ]);
});

test('one that ends late moves left', () => {
  assert.deepEqual(dump([call, ...served(30, 120)]), [
    'true: call [0,100) 10',
    '  serve [10,100) 90',
    'skew web -> stock 1 x -20',
  ]);
});

test('within the tolerance nothing moves: the early part is clipped, the late one clamped', () => {
  assert.deepEqual(dump([call, ...served(-1, 50)]), ['true: call [0,100) 50', '  serve [-1,50) 50']);
  assert.deepEqual(dump([call, ...served(50, 101)]), [
    'true: call [0,100) 50',
    '  serve [50,100) 50',
    'clamped 1',
  ]);
});

test('a server span longer than its caller does not fit anywhere and stays', () => {
  assert.deepEqual(dump([call, ...served(-10, 101)]), [
    'true: call [0,100) 0',
    '  serve [-10,100) 100',
    'clamped 1',
  ]);
});

test('a call that failed or timed out is not moved', () => {
  const timedOut = { ...call, attributes: { 'error.type': 'timeout' } };
  for (const parent of [{ ...call, error: true }, timedOut]) {
    assert.deepEqual(dump([parent, ...served(30, 120)]), [
      'true: call [0,100) 30',
      '  serve [30,100) 70',
      'abandoned 1',
      'abandonedNs 20',
    ]);
  }
});

test('only a server in another process is moved', () => {
  const late = served(30, 120)[0];
  const unmoved = 'abandoned 1';
  assert.ok(dump([call, { ...late, service: 'web' }]).includes(unmoved));
  assert.ok(
    dump([
      { ...call, instance: 'i1' },
      { ...late, service: 'web' },
    ]).includes(unmoved),
  );
  assert.ok(
    dump([
      { ...call, instance: 'i1' },
      { ...late, service: 'web', instance: 'i1' },
    ]).includes(unmoved),
  );
  assert.ok(
    dump([
      { ...call, instance: 'i1' },
      { ...late, service: 'web', instance: 'i2' },
    ]).includes('skew web -> web 1 x -20'),
  );
  // Host and pid are no instance id: they may differ for one and the same process (a restarted exporter, a container).
  const host = (name: string): TestSpan['resource'] => ({ 'host.name': name });
  assert.ok(
    dump([
      { ...call, resource: host('a') },
      { ...late, service: 'web', resource: host('b') },
    ]).includes(unmoved),
  );
  assert.ok(dump([call, { ...late, kind: 'consumer' }]).includes('detached: serve'));
});

test('a moved server is the measure for what is below it', () => {
  const spans: TestSpan[] = [
    call,
    ...served(-40, 40),
    { id: '3', parent: '2', name: 'call on', kind: 'client', service: 'stock', start: -30, end: 30 },
    { id: '4', parent: '3', name: 'serve on', kind: 'server', service: 'price', start: -20, end: 20 },
    { id: '5', parent: '3', name: 'true clock', kind: 'server', service: 'other', start: 20, end: 40 },
  ];
  assert.deepEqual(dump(spans), [
    'true: call [0,100) 20',
    '  serve [0,80) 20',
    '    call on [10,70) 10',
    '      serve on [20,60) 30',
    '      true clock [50,70) 20',
    'skew stock -> other 1 x -10',
    'skew web -> stock 1 x 40',
  ]);
});

test('--keep-clocks leaves every clock alone', () => {
  assert.deepEqual(dump([call, ...served(-40, 40)], { keepClocks: true }), [
    'true: call [0,100) 60',
    '  serve [-40,40) 40',
  ]);
});

test('a clock that is decades off is corrected to the nanosecond', () => {
  const spans: TestSpan[] = [
    call,
    { id: '2', parent: '1', name: 'serve', kind: 'server', service: 'device', start: 7n, end: 50_000_012n },
    { id: '3', parent: '2', name: 'read', service: 'device', start: 1_000_010n, end: 1_000_011n },
  ];
  assert.deepEqual(dump(spans).slice(0, 3), [
    'true: call [0,100) 49.999995',
    '  serve [0,50.000005) 50.000004',
    '    read [1.000003,1.000004) 0.000001',
  ]);
});

test('holds move with the span they hang under', () => {
  const spans: TestSpan[] = [
    call,
    ...served(-40, 40),
    { id: '3', parent: '2', name: 'hold', attributes: { 'waitfall.segment': 'hold' }, start: -40, end: 40 },
  ];
  assert.deepEqual(dump(spans).slice(1), ['  serve [0,80) 80', 'hold: hold', 'skew web -> stock 1 x 40']);
});

test('a child further than 104 days away keeps its tree exact', () => {
  const year = 365n * 86_400n * 1_000_000_000n;
  const far = { parent: '1', start: BASE + year, end: BASE + year + 5_000_000n };
  const spans: TestSpan[] = [
    { ...call, kind: 'internal' },
    { ...far, id: '2', name: 'next year', kind: 'consumer' },
    { ...far, id: '3', parent: '2', name: 'its child' },
    { ...far, id: '4', name: 'last year', start: BASE - year, end: BASE - year + 5_000_000n },
    { ...far, id: '5', name: 'since last year', start: BASE - year / 4n, end: BASE + 10_000_000n },
  ];
  const lines = dump(spans);
  assert.equal(lines[0], 'true: call [0,100) 90');
  assert.deepEqual(lines.slice(-3), ['detached: next year its child', 'detached 1', 'detachedNs 5']);
});
