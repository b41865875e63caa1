import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { openParts } from '../../../analyzer/src/model/shared-parts.ts';
import {
  attributes,
  endUnixNano,
  parentIdText,
  type SpanTable,
  spanIdText,
  startUnixNano,
} from '../../../analyzer/src/model/span-table.ts';
import { SpilledRows } from '../../../analyzer/src/model/spilled-table.ts';
import { readInputs } from '../../../analyzer/src/read/index.ts';
import { spilled } from '../parts.ts';
import { type TestSpan, tableOf } from '../tree/spans.ts';

const SPANS: TestSpan[] = Array.from({ length: 60 }, (_, i) => ({
  id: i % 11 === 0 ? `opaque-${i}` : (i + 1).toString(16),
  ...(i % 3 === 0 ? {} : { parent: 'aa' }),
  trace: i % 7 === 0 ? `not-hex-${i % 5}` : `${1 + (i % 9)}`,
  name: `span ${i % 4}`,
  start: i % 13 === 0 ? null : 10 * i,
  end: 10 * i + 7,
  kind: i % 2 === 0 ? 'client' : 'server',
  service: `service-${i % 3}`,
  attributes: {
    text: `t${i % 5}`,
    whole: i,
    ...(i % 2 === 0 ? { part: i / 7, negative: -i } : { yes: true, list: [i, `${i}`] }),
  },
  ...(i % 10 === 0 ? { links: [['1', 'bb']] as [string, string][] } : {}),
}));

function inputOf(table: SpanTable): Input {
  return {
    table,
    metrics: [],
    files: [],
    rejected: [],
    invalidIds: 0,
    skipped: { logs: 0, profiles: 0 },
    loadPlans: [],
  };
}

/** Everything a table says of a row. */
function say(table: SpanTable, row: number): unknown {
  return {
    trace: table.traceIds[table.trace[row]],
    id: spanIdText(table, row),
    parent: parentIdText(table, row),
    name: table.strings.text(table.name[row]),
    times: [startUnixNano(table, row), endUnixNano(table, row)],
    kind: table.kind[row],
    flags: table.flags[row],
    resource: table.resources[table.resource[row]],
    rest: table.attributeRest[row],
    attributes: attributes(table, row),
    links: table.links.get(row),
  };
}

const everyRow = (table: SpanTable) => Array.from({ length: table.length }, (_, row) => say(table, row));

test('rows come back as they were, every trace whole in one part', () => {
  const table = tableOf(SPANS);
  for (const [parts, blocks] of [
    [1, 1],
    [4, 1],
    [4, 7],
    [50, 60],
  ]) {
    const input = spilled(inputOf(table), parts, blocks);
    const { spilled: kept } = input;
    assert.ok(kept);
    assert.equal(kept.count, parts);
    assert.equal(kept.rows, table.length);
    const partOf = new Map<string, number>();
    const found: unknown[] = [];
    for (let part = 0; part < parts; part++) {
      const own = kept.load(part);
      for (const id of own.traceIds) {
        assert.ok(!partOf.has(id), `${id} is in two parts`);
        partOf.set(id, part);
      }
      found.push(...everyRow(own));
    }
    const shared = kept.share();
    assert.ok(shared);
    // As another thread has them.
    const theirs = openParts(structuredClone(shared));
    for (let part = 0; part < parts; part++)
      assert.deepEqual(everyRow(theirs.load(part)).map(text), everyRow(kept.load(part)).map(text));
    const whole = kept.whole();
    const wanted = new Set(everyRow(table).map(text));
    assert.deepEqual(new Set(found.map(text)), wanted);
    assert.deepEqual(new Set(everyRow(whole).map(text)), wanted);
    assert.equal(found.length, table.length);
    assert.equal(whole.traceIds.length, table.traceIds.length);
    kept.close();
  }
});

test('rows of a part stand in the order in which they came', () => {
  const table = tableOf(SPANS);
  const { spilled: kept } = spilled(inputOf(table), 1, 5);
  assert.ok(kept);
  assert.deepEqual(everyRow(kept.load(0)).map(text), everyRow(table).map(text));
  kept.close();
});

test('an input that does not fit into the memory given is spilled, one that fits is not', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'waitfall-test-'));
  try {
    const path = join(directory, 'traces.jsonl');
    const spans = Array.from({ length: 20 }, (_, i) => ({
      traceId: `${10 + i}`.padStart(32, 'a'),
      spanId: `${10 + i}`.padStart(16, 'b'),
      name: 'GET',
      startTimeUnixNano: '1750000000000000001',
      endTimeUnixNano: '1750000000000000101',
    }));
    writeFileSync(path, `${JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })}\n`);
    const fits = await readInputs([path], { memoryBytes: 2 ** 30 });
    assert.equal(fits.spilled, null);
    const { spilled: kept, table, files } = await readInputs([path], { memoryBytes: 1 });
    assert.ok(kept);
    assert.equal(table.length, 0);
    assert.equal(files[0].spans, 20);
    assert.equal(kept.rows, 20);
    assert.ok(kept.count > 1);
    assert.deepEqual(everyRow(kept.whole()).map(text).sort(), everyRow(fits.table).map(text).sort());
    kept.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('the file has no name while it is used, and nothing is left of it', () => {
  const directory = mkdtempSync(join(tmpdir(), 'waitfall-test-'));
  try {
    const rows = new SpilledRows(2, (trace) => trace, directory);
    rows.write(tableOf(SPANS));
    if (process.platform !== 'win32') assert.deepEqual(readdirSync(directory), []);
    assert.ok(rows.bytes > 60 * 60);
    rows.close();
    assert.deepEqual(readdirSync(directory), []);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

function text(value: unknown): string {
  return JSON.stringify(value, (_key, v) => {
    if (typeof v === 'bigint') return `${v}n`;
    return v instanceof Map ? [...v] : v;
  });
}
