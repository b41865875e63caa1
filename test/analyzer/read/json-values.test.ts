import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Collector } from '../../../analyzer/src/read/collector.ts';
import { readJsonValue } from '../../../analyzer/src/read/json-shapes.ts';
import { JsonValues } from '../../../analyzer/src/read/json-values.ts';
import { dumpSpans } from './dump.ts';
import { PLAIN_ENCODINGS, RICH_ENCODINGS } from './encodings.ts';
import { readBytes } from './reading.ts';

/** Reads as if a value of `splitBytes` were too large to hold. */
function readInParts(content: Buffer, splitBytes: number, chunk: number) {
  const collector = new Collector();
  collector.openFile('-');
  let parts = 0;
  const values = new JsonValues(
    {
      value(value, at) {
        parts++;
        return readJsonValue(value, collector, at) !== null;
      },
      broken: (at, reason) => collector.reject(at, reason),
      unfinished: (at, what) => collector.unfinished(at, what),
    },
    null,
    splitBytes,
  );
  for (let from = 0; from < content.length; from += chunk) values.push(content.subarray(from, from + chunk));
  const torn = values.end();
  return { input: collector.finish(), parts, torn };
}

for (const [name, content] of [...Object.entries(RICH_ENCODINGS), ...Object.entries(PLAIN_ENCODINGS)]) {
  if (content[0] !== 0x7b && content[0] !== 0x5b) continue;
  test(`${name} too large to hold is read in parts`, async () => {
    const whole = dumpSpans((await readBytes(content)).table);
    for (const [splitBytes, chunk] of [
      [1, 1],
      [64, 16],
      [700, 50],
      [1500, 400],
    ]) {
      const { input, torn } = readInParts(content, splitBytes, chunk);
      assert.equal(dumpSpans(input.table), whole, `in parts of ${splitBytes}`);
      assert.deepEqual(input.rejected, []);
      assert.equal(torn, null);
    }
  });
}

test('a long document is held in parts only', () => {
  const batch = JSON.parse(RICH_ENCODINGS['json document'].toString()).resourceSpans[0];
  for (const indent of [0, 1]) {
    const content = Buffer.from(JSON.stringify({ resourceSpans: Array(300).fill(batch) }, null, indent));
    const { input, parts } = readInParts(content, 10_000, 5000);
    assert.equal(input.table.length, 600);
    assert.ok(parts > 20, `${parts} parts`);
  }
});

test('the spans of one scope are read in parts, with its Resource and scope', () => {
  const [first] = JSON.parse(RICH_ENCODINGS['json document'].toString()).resourceSpans;
  first.scopeSpans[0].spans = Array(200).fill(first.scopeSpans[0].spans[1]);
  const { input, parts } = readInParts(Buffer.from(JSON.stringify({ resourceSpans: [first] })), 5000, 1000);
  assert.equal(input.table.length, 200);
  assert.ok(parts > 10, `${parts} parts`);
  assert.equal(input.table.resources.length, 1);
  assert.equal(input.table.resources[0].service, 'shop');
  assert.deepEqual(
    input.table.scopes.map(({ name }) => name),
    ['http'],
  );
});

test('a broken line too long to hold is one fault, and costs that line only', () => {
  const good = RICH_ENCODINGS['json lines'];
  for (const start of ['{"resourceSpans":[{"a":"', 'x', '[1,2,']) {
    const content = Buffer.concat([good, Buffer.from(`${start}${'"x'.repeat(5000)}\n`), good]);
    for (const chunk of [100, 4000]) {
      const { input } = readInParts(content, 1000, chunk);
      assert.equal(input.table.length, 8);
      assert.equal(input.rejected.length, 1, JSON.stringify(input.rejected));
      assert.equal(input.rejected[0].line, 3);
    }
  }
});

test('the spans of a long Jaeger trace wait for the processes behind them', () => {
  const spans = Array.from({ length: 500 }, (_, i) => ({
    traceID: 'ab',
    spanID: (i + 1).toString(16),
    operationName: 'x',
    startTime: 1,
    duration: 1,
    processID: i % 2 === 0 ? 'p1' : 'p2',
  }));
  const processes = { p1: { serviceName: 'even' }, p2: { serviceName: 'odd' } };
  const content = Buffer.from(JSON.stringify({ data: [{ traceID: 'ab', spans, processes }] }));
  const { input, parts } = readInParts(content, 5000, 1000);
  assert.ok(parts > 5, `${parts} parts`);
  const { table } = input;
  const services = Array.from(table.resource, (resource) => table.resources[resource].service);
  assert.deepEqual(
    services,
    spans.map(({ processID }) => (processID === 'p1' ? 'even' : 'odd')),
  );
});
