import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttributeValue } from '../../../analyzer/src/model/attributes.ts';
import type { SpanRecord } from '../../../analyzer/src/model/span.ts';
import {
  attribute,
  attributes,
  compareSpanIds,
  endUnixNano,
  equalAttributes,
  parentIdText,
  SpanTableBuilder,
  spanIdText,
  startUnixNano,
} from '../../../analyzer/src/model/span-table.ts';

function span(builder: SpanTableBuilder, more: Partial<SpanRecord> = {}): SpanRecord {
  return {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    spanId: '00f067aa0ba902b7',
    parentSpanId: '',
    followsFrom: false,
    shared: false,
    name: 'a',
    kind: 2,
    startUnixNano: 1_750_000_000_000_000_001n,
    endUnixNano: 1_750_000_000_000_000_002n,
    statusCode: 0,
    statusMessage: '',
    traceState: '',
    resource: builder.resource(new Map()),
    scope: builder.scope('', ''),
    attributes: new Map(),
    links: [],
    events: [],
    ...more,
  };
}

test('every kind of attribute value comes back as it went in', () => {
  const values: [string, AttributeValue][] = [
    ['text', 'x'],
    ['empty', ''],
    ['number', -0.5],
    ['largest small', 4294967295],
    ['next', 4294967296],
    ['minus one', -1],
    ['minus zero', -0],
    ['nan', Number.NaN],
    ['big', 9007199254740993n],
    ['true', true],
    ['false', false],
    ['null', null],
    ['bytes', { bytes: 'AAEC' }],
    ['list', ['a', 1, 12345678901234567890n, [true]]],
    ['map', { a: { b: null } }],
    ['like our own encoding', { $int: 'not a number' }],
  ];
  const builder = new SpanTableBuilder();
  builder.add(span(builder, { attributes: new Map(values) }));
  const table = builder.build();
  assert.deepEqual([...attributes(table, 0)], values);
  for (const [key, value] of values) assert.deepEqual(attribute(table, 0, key), value);
  assert.equal(attribute(table, 0, 'absent'), undefined);
});

test('rows with the same attributes are told from those that differ in one', () => {
  const builder = new SpanTableBuilder();
  const add = (...entries: [string, AttributeValue][]) =>
    builder.add(span(builder, { attributes: new Map(entries) }));
  add(['a', 1], ['b', 0.5], ['c', 'x']);
  add(['a', 1], ['b', 0.5], ['c', 'x']);
  add(['a', 1], ['b', 0.25], ['c', 'x']);
  add(['a', 1], ['b', 0.5], ['c', 'y']);
  add(['a', 1], ['b', 0.5]);
  add(['a', '1'], ['b', 0.5], ['c', 'x']);
  const table = builder.build();
  assert.deepEqual(
    [1, 2, 3, 4, 5].map((row) => equalAttributes(table, 0, row)),
    [true, false, false, false, false],
  );
});

test('a thousand different sets of attributes', () => {
  const builder = new SpanTableBuilder();
  for (let i = 0; i < 3000; i++) {
    const entries: [string, AttributeValue][] = [
      [`k${i % 1000}`, i],
      ['all', i / 2],
    ];
    builder.add(span(builder, { attributes: new Map(i % 3 === 0 ? entries.reverse() : entries) }));
  }
  builder.add(span(builder, { attributes: new Map(Array.from({ length: 200 }, (_, i) => [`many${i}`, i])) }));
  const table = builder.build();
  for (let i = 0; i < 3000; i++) {
    assert.equal(attribute(table, i, `k${i % 1000}`), i);
    assert.equal(attribute(table, i, 'all'), i / 2);
    assert.equal(attribute(table, i, `k${(i + 1) % 1000}`), undefined);
  }
  assert.equal(attribute(table, 3000, 'many199'), 199);
});

test('ids of either kind keep their text and their order', () => {
  const builder = new SpanTableBuilder();
  for (const spanId of ['ffffffffffffffff', '0000000000000001', 'span-1', '7fffffffffffffff']) {
    builder.add(span(builder, { spanId, parentSpanId: 'the parent', traceId: spanId }));
  }
  const table = builder.build();
  const rows = [0, 1, 2, 3].sort((a, b) => compareSpanIds(table, a, b));
  assert.deepEqual(
    rows.map((row) => spanIdText(table, row)),
    ['0000000000000001', '7fffffffffffffff', 'ffffffffffffffff', 'span-1'],
  );
  assert.equal(parentIdText(table, 0), 'the parent');
  assert.deepEqual(table.traceIds, ['ffffffffffffffff', '0000000000000001', 'span-1', '7fffffffffffffff']);
});

test('times are exact to the last nanosecond of 2106', () => {
  const builder = new SpanTableBuilder();
  builder.add(span(builder, { startUnixNano: 0n, endUnixNano: 4_294_967_295_999_999_999n }));
  builder.add(span(builder, { startUnixNano: null, endUnixNano: null }));
  const table = builder.build();
  assert.equal(startUnixNano(table, 0), 0n);
  assert.equal(endUnixNano(table, 0), 4_294_967_295_999_999_999n);
  assert.equal(startUnixNano(table, 1), 0n);
});

test('a rollback leaves no trace of what came after the mark', () => {
  const builder = new SpanTableBuilder();
  builder.add(span(builder));
  const mark = builder.mark();
  const other = { traceId: '00000000000000000000000000000001', attributes: new Map([['k', 'v']]) };
  const resource = builder.resource(new Map([['service.name', 'gone']]));
  const links = [
    { traceId: other.traceId, spanId: '0000000000000001', traceState: '', attributes: new Map() },
  ];
  for (let i = 0; i < 3000; i++) builder.add(span(builder, { ...other, resource, links, traceId: `t${i}` }));
  builder.rollback(mark);
  builder.add(
    span(builder, { traceId: '00000000000000000000000000000002', name: 'kept', startUnixNano: null }),
  );
  const table = builder.build();
  assert.equal(table.length, 2);
  assert.deepEqual(table.traceIds, ['0af7651916cd43dd8448eb211c80319c', '00000000000000000000000000000002']);
  assert.deepEqual(
    table.resources.map(({ service }) => service),
    ['unknown_service'],
  );
  assert.equal(table.links.size, 0);
  assert.equal(attributes(table, 1).size, 0);
  assert.equal(startUnixNano(table, 1), 0n);
});

test('a hundred thousand traces and rows', () => {
  const builder = new SpanTableBuilder();
  const n = 100_000;
  for (let i = 0; i < n; i++) {
    const traceId = (i % 2 === 0 ? i : i * 7919).toString(16).padStart(32, '0');
    builder.add(span(builder, { traceId, attributes: new Map([['i', i]]) }));
  }
  const table = builder.build();
  assert.equal(table.length, n);
  for (let row = 0; row < n; row += 997) {
    const expected = (row % 2 === 0 ? row : row * 7919).toString(16).padStart(32, '0');
    assert.equal(table.traceIds[table.trace[row]], expected);
    assert.equal(attribute(table, row, 'i'), row);
  }
});

test('rollbacks among a hundred thousand traces cost what they take back', () => {
  const builder = new SpanTableBuilder();
  const id = (i: number) => i.toString(16).padStart(32, '0');
  for (let i = 1; i <= 100_000; i++) {
    builder.add(span(builder, { traceId: i % 100 === 0 ? `opaque ${i}` : id(i) }));
    const mark = builder.mark();
    builder.add(span(builder, { traceId: id(i + 1) }));
    builder.add(span(builder, { traceId: `gone ${i}` }));
    builder.rollback(mark);
  }
  const table = builder.build();
  assert.equal(table.length, 100_000);
  assert.equal(table.traceIds.length, 100_000);
  assert.equal(new Set(table.traceIds).size, 100_000);
  for (let row = 0; row < table.length; row += 101) {
    assert.equal(table.traceIds[table.trace[row]], (row + 1) % 100 === 0 ? `opaque ${row + 1}` : id(row + 1));
  }
});
