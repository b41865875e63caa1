import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { classify } from '../../../analyzer/src/classify/classify.ts';
import { loadRules, type Rules } from '../../../analyzer/src/classify/rules.ts';
import { segmentsOfTree } from '../../../analyzer/src/classify/segments.ts';
import { partition } from '../../../analyzer/src/partition/partition.ts';
import { repairTrees } from '../../../analyzer/src/tree/repair.ts';
import { type TestSpan, tableOf } from '../tree/spans.ts';

/** Each span's class as `segment resource`, by id. */
function classesOf(spans: TestSpan[], rules?: Rules): Record<string, string> {
  const table = tableOf(spans);
  const classes = classify(table, repairTrees(table), rules);
  return Object.fromEntries(
    spans.map((span, row) => {
      const resource = classes.resources[classes.resource[row]] ?? '-';
      return [span.name ?? span.id, `${SEGMENTS[classes.segment[row]]} ${resource}`];
    }),
  );
}

const root: TestSpan = { id: '1', name: 'root', kind: 'server', start: 0, end: 100 };
const child = (id: string, more: Partial<TestSpan>): TestSpan => ({
  id,
  parent: '1',
  start: 10,
  end: 20,
  ...more,
});

test('what waitfall.segment states comes first', () => {
  const spans = [
    root,
    child('2', {
      name: 'pg-pool.connect',
      kind: 'client',
      attributes: { 'waitfall.segment': 'lock_wait', 'waitfall.resource': 'lock:t' },
    }),
    child('3', { name: 'wait_for http.server', attributes: { 'waitfall.segment': 'admission_wait' } }),
    child('4', { name: 'slice', attributes: { 'waitfall.segment': 'work' } }),
    child('5', { name: 'odd', attributes: { 'waitfall.segment': 'coffee' } }),
  ];
  assert.deepEqual(classesOf(spans), {
    root: 'unaccounted -',
    'pg-pool.connect': 'lock_wait lock:t',
    'wait_for http.server': 'admission_wait http.server',
    slice: 'work -',
    odd: 'unaccounted -',
  });
});

test('known names of other instrumentations are waits, not calls', () => {
  const pg = { 'server.address': 'db', 'server.port': 5432, 'db.namespace': 'signup' };
  const names = [
    'pg-pool.connect',
    'pg.pool.acquire',
    'mysql2.pool.acquire',
    'prisma:engine:connection',
    'pg.connect',
    'tcp.connect',
    'tls.connect',
    'dns.lookup',
    'http.server.request.time_in_queue',
  ];
  const spans = names.map((name, i) => child((i + 2).toString(16), { name, kind: 'client', attributes: pg }));
  assert.deepEqual(classesOf([root, ...spans]), {
    root: 'unaccounted -',
    'pg-pool.connect': 'pool_wait pg-pool:signup',
    'pg.pool.acquire': 'pool_wait pg-pool:signup',
    'mysql2.pool.acquire': 'pool_wait mysql2-pool:signup',
    'prisma:engine:connection': 'pool_wait prisma-pool',
    'pg.connect': 'connection_wait connect:db:5432',
    'tcp.connect': 'connection_wait connect:db:5432',
    'tls.connect': 'connection_wait connect:db:5432',
    'dns.lookup': 'connection_wait dns',
    'http.server.request.time_in_queue': 'admission_wait http.server',
  });
});

test('pg-pool.connect less its pg.connect child is the wait for a slot', () => {
  const spans: TestSpan[] = [
    root,
    child('2', { name: 'pg-pool.connect', kind: 'client', start: 10, end: 50 }),
    child('3', { parent: '2', name: 'pg.connect', kind: 'client', start: 35, end: 50 }),
  ];
  const table = tableOf(spans);
  const forest = repairTrees(table);
  const sums = segmentsOfTree(forest, partition(forest), classify(table, forest), forest.trees[0]);
  assert.deepEqual(
    [...sums],
    [
      ['pool_wait', 25],
      ['connection_wait', 15],
      ['unaccounted', 60],
    ],
  );
});

test('a wait that is also stated by a span of its own is not counted twice', () => {
  const stated = (segment: string, resource: string) => ({
    attributes: { 'waitfall.segment': segment, 'waitfall.resource': resource },
  });
  const spans: TestSpan[] = [
    root,
    child('2', { name: 'pg-pool.connect', kind: 'client', start: 10, end: 50 }),
    child('3', {
      parent: '2',
      name: 'wait_for pg-pool:a',
      start: 10,
      end: 20,
      ...stated('pool_wait', 'pg-pool:a'),
    }),
    child('4', { parent: '2', name: 'pg.connect', kind: 'client', start: 22, end: 45 }),
    child('5', {
      parent: '2',
      name: 'wait_for connect:a',
      start: 20,
      end: 46,
      ...stated('connection_wait', 'connect:a'),
    }),
  ];
  assert.deepEqual(classesOf(spans), {
    root: 'unaccounted -',
    'pg-pool.connect': 'unaccounted -',
    'wait_for pg-pool:a': 'pool_wait pg-pool:a',
    'pg.connect': 'unaccounted -',
    'wait_for connect:a': 'connection_wait connect:a',
  });
});

test('a stated wait beside it supersedes only the acquisition it overlaps, in the same service', () => {
  const wait = { 'waitfall.segment': 'pool_wait', 'waitfall.resource': 'pg-pool:a' };
  const spans: TestSpan[] = [
    root,
    child('2', { name: 'wait', start: 12, end: 12, attributes: wait }),
    child('3', { name: 'pg-pool.connect', kind: 'client', start: 10, end: 20 }),
    child('4', { name: 'pg.pool.acquire', kind: 'client', start: 30, end: 40 }),
    child('5', { name: 'mysql2.pool.acquire', kind: 'client', start: 10, end: 20, service: 'other' }),
    child('6', { name: 'tcp.connect', kind: 'client', start: 10, end: 20 }),
  ];
  assert.deepEqual(classesOf(spans), {
    root: 'unaccounted -',
    wait: 'pool_wait pg-pool:a',
    'pg-pool.connect': 'unaccounted -',
    'pg.pool.acquire': 'pool_wait pg-pool:unknown',
    'mysql2.pool.acquire': 'pool_wait mysql2-pool:unknown',
    'tcp.connect': 'connection_wait connect:unknown',
  });
});

test('thousands of acquisitions beside thousands of stated waits are told apart in reasonable time', () => {
  const count = 20_000;
  const wait = { 'waitfall.segment': 'pool_wait', 'waitfall.resource': 'pg-pool:a' };
  const spans = Array.from({ length: count }, (_, i): TestSpan[] => [
    child(`a${i}`, { name: 'pg-pool.connect', kind: 'client', start: 10 * i, end: 10 * i + 5 }),
    // Every other one is measured.
    child(`b${i}`, { start: 20 * i + 2, end: 20 * i + 2, attributes: wait }),
  ]).flat();
  const table = tableOf([{ ...root, end: 1e6 }, ...spans]);
  const { segment } = classify(table, repairTrees(table));
  const counts = [...segment].filter((index) => SEGMENTS[index] === 'pool_wait').length;
  assert.equal(counts, count + count / 2);
});

test('a client span names the server it calls: address and port, address, older names, peer service', () => {
  const peers: TestSpan['attributes'][] = [
    { 'server.address': 'db', 'server.port': 5432 },
    { 'server.address': 'db' },
    { 'net.peer.name': 'old', 'net.peer.port': 80 },
    { 'peer.service': 'stock' },
    { 'server.address': '::1', 'server.port': 5432 },
    { 'peer.service': 'stock', 'network.peer.address': '10.0.0.7', 'network.peer.port': 80 },
    { 'network.peer.address': '10.0.0.7', 'network.peer.port': 80 },
    {},
  ];
  const calls = peers.map((attributes, i) =>
    child((i + 2).toString(16), { name: `call ${i}`, kind: 'client', attributes }),
  );
  assert.deepEqual(Object.values(classesOf([root, ...calls])), [
    'unaccounted -',
    'downstream db:5432',
    'downstream db',
    'downstream old:80',
    'downstream stock',
    'downstream [::1]:5432',
    'downstream stock',
    'downstream 10.0.0.7:80',
    'downstream -',
  ]);
});

test('a client span with a server child owns network time; the server part is downstream', () => {
  const spans: TestSpan[] = [
    root,
    child('2', { name: 'call', kind: 'client', attributes: { 'server.address': 'stock' } }),
    child('3', { parent: '2', name: 'serve', kind: 'server', service: 'stock' }),
    child('4', { parent: '3', name: 'inside', service: 'stock' }),
    child('5', {
      parent: '3',
      name: 'wait inside',
      service: 'stock',
      attributes: { 'waitfall.segment': 'pool_wait', 'waitfall.resource': 'pg-pool:s' },
    }),
  ];
  assert.deepEqual(classesOf(spans), {
    root: 'unaccounted -',
    call: 'network stock',
    serve: 'downstream stock',
    inside: 'downstream stock',
    'wait inside': 'pool_wait pg-pool:s',
  });
});

test('a server child that was detached or dropped makes no network time', () => {
  const spans: TestSpan[] = [
    root,
    child('2', { name: 'call', kind: 'client' }),
    child('3', { parent: '2', name: 'broken serve', kind: 'server', start: 20, end: 11 }),
  ];
  assert.equal(classesOf(spans)['call'], 'downstream -');
});

test('producers and consumers are messaging; unspecified kinds count as internal', () => {
  const spans: TestSpan[] = [
    root,
    child('2', { name: 'publish', kind: 'producer', attributes: { 'messaging.destination.name': 'mail' } }),
    child('3', { name: 'consume', kind: 'consumer', service: 'mailer' }),
    child('4', { name: 'kindless', kind: 'unspecified' }),
    child('5', { name: 'kindless elsewhere', kind: 'unspecified', service: 'stock' }),
  ];
  assert.deepEqual(classesOf(spans), {
    root: 'unaccounted -',
    publish: 'messaging mail',
    consume: 'messaging -',
    kindless: 'unaccounted -',
    'kindless elsewhere': 'downstream stock',
  });
});

test('the own service is that of the root of each tree', () => {
  const spans: TestSpan[] = [
    { ...root, service: 'web' },
    { id: '9', name: 'orphan', parent: 'dead', service: 'stock', start: 0, end: 10 },
    { id: 'a', name: 'below orphan', parent: '9', service: 'stock', start: 0, end: 5 },
  ];
  assert.deepEqual(classesOf(spans), {
    root: 'unaccounted -',
    orphan: 'unaccounted -',
    'below orphan': 'unaccounted -',
  });
});

test('rules come after waitfall.segment and before known names', () => {
  const rules = loadRules(`
rules:
  - name: pg-pool.connect
    segment: connection_wait
    resource: pool of {server.address}
  - name: 'acquire *'
    scope: my-pool
    attribute: { pool.kind: 'big*', service.name: shop }
    segment: pool_wait
    resource: big
`);
  const spans: TestSpan[] = [
    root,
    child('2', { name: 'pg-pool.connect', attributes: { 'server.address': 'db' } }),
    child('3', { name: 'acquire one', scope: 'my-pool', attributes: { 'pool.kind': 'bigger' } }),
    child('4', { name: 'acquire two', scope: 'other', attributes: { 'pool.kind': 'bigger' } }),
    child('5', { name: 'acquire three', scope: 'my-pool', attributes: { 'pool.kind': 'small' } }),
    child('6', {
      name: 'acquire four',
      scope: 'my-pool',
      attributes: { 'pool.kind': 'big', 'waitfall.segment': 'work' },
    }),
  ];
  assert.deepEqual(classesOf(spans, rules), {
    root: 'unaccounted -',
    'pg-pool.connect': 'connection_wait pool of db',
    'acquire one': 'pool_wait big',
    'acquire two': 'unaccounted -',
    'acquire three': 'unaccounted -',
    'acquire four': 'work -',
  });
});

test('outcomes of waits: stated, else read from the error of a wait that failed', () => {
  const wait = (id: string, more: Partial<TestSpan>, attributes: TestSpan['attributes'] = {}): TestSpan =>
    child(id, { ...more, attributes: { 'waitfall.segment': 'pool_wait', ...attributes } });
  const spans = [
    root,
    wait('2', {}, { 'waitfall.outcome': 'acquired' }),
    wait('3', {}, { 'waitfall.outcome': 'rejected' }),
    wait('4', { error: true }, { 'error.type': 'TimeoutError' }),
    wait('5', { error: true }),
    wait('6', {}),
    child('7', { error: true }),
  ];
  const table = tableOf(spans);
  assert.deepEqual([...classify(table, repairTrees(table)).waitOutcome], [0, 1, 2, 3, 4, 0, 0]);
});

test('what was stated and what was inferred is told apart', () => {
  const table = tableOf([root, child('2', { attributes: { 'waitfall.segment': 'work' } })]);
  assert.deepEqual([...classify(table, repairTrees(table)).inferred], [1, 0]);
});
