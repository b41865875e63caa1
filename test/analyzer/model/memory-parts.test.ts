import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryParts } from '../../../analyzer/src/model/memory-parts.ts';
import { openParts } from '../../../analyzer/src/model/shared-parts.ts';
import {
  attributes,
  parentIdText,
  type SpanTable,
  spanIdText,
} from '../../../analyzer/src/model/span-table.ts';
import { inSharedMemory } from '../parts.ts';
import { type TestSpan, tableOf } from '../tree/spans.ts';

const spansOf = (traceOf: (i: number) => string): TestSpan[] =>
  Array.from({ length: 40 }, (_, i) => ({
    id: i % 11 === 0 ? `opaque-${i}` : (i + 1).toString(16),
    ...(i % 3 === 0 ? {} : { parent: 'aa' }),
    trace: traceOf(i),
    name: `span ${i % 4}`,
    start: 10 * i,
    end: 10 * i + 7,
    attributes: { whole: i, part: i / 7, text: `t${i % 5}` },
    ...(i % 10 === 0 ? { links: [['1', 'bb']] as [string, string][] } : {}),
  }));

function say(table: SpanTable, row: number): string {
  return JSON.stringify([
    table.traceIds[table.trace[row]],
    spanIdText(table, row),
    parentIdText(table, row),
    table.strings.text(table.name[row]),
    table.startNs[row],
    [...attributes(table, row)],
    table.links.get(row) ?? [],
  ]);
}

const everyRow = (table: SpanTable) => Array.from({ length: table.length }, (_, row) => say(table, row));

for (const [name, traceOf] of [
  ['traces one after the other', (i: number) => `${1 + Math.floor(i / 4)}`],
  [
    'traces mixed, some with opaque ids',
    (i: number) => (i % 7 === 0 ? `not-hex-${i % 5}` : `${1 + (i % 9)}`),
  ],
] as const) {
  test(`parts of a table hold its rows, every trace whole in one: ${name}`, () => {
    const table = tableOf(spansOf(traceOf));
    for (const rows of [1, 7, 1000]) {
      const parts = memoryParts(table, rows);
      assert.equal(parts.rows, table.length);
      const found: string[] = [];
      const traces: string[] = [];
      for (let part = 0; part < parts.count; part++) {
        const own = parts.load(part);
        assert.equal(own.length, parts.rowsOf(part));
        found.push(...everyRow(own));
        traces.push(...own.traceIds);
      }
      assert.deepEqual(traces, table.traceIds);
      assert.deepEqual(found.sort(), everyRow(table).sort());
    }
  });
}

test('another thread has the same parts of columns in shared memory, of others none', () => {
  const table = tableOf(spansOf((i) => `${1 + (i % 9)}`));
  assert.equal(memoryParts(table).share(), null);
  const parts = memoryParts(inSharedMemory(table), 7);
  const shared = parts.share();
  assert.ok(shared);
  const theirs = openParts(structuredClone(shared));
  assert.equal(theirs.count, parts.count);
  for (let part = 0; part < parts.count; part++)
    assert.deepEqual(everyRow(theirs.load(part)), everyRow(parts.load(part)));
});

test('a table without rows has no parts', () => {
  assert.equal(memoryParts(tableOf([])).count, 0);
});
