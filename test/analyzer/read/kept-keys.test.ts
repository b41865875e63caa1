import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze, buildReport, jsonReport } from '../../../analyzer/src/index.ts';
import { attributesRead } from '../../../analyzer/src/infer/attributes-read.ts';
import { attribute } from '../../../analyzer/src/model/span-table.ts';
import { AllAttributesNeeded } from '../../../analyzer/src/tree/copy-text.ts';
import { repairTrees } from '../../../analyzer/src/tree/repair.ts';
import { PLAIN_ENCODINGS, RICH_ENCODINGS } from './encodings.ts';
import { readBytes } from './reading.ts';

const keep = attributesRead(undefined, undefined);

/** The JSON report without the names and formats of files. */
async function reportOf(content: Buffer, options: object): Promise<string> {
  const input = await readBytes(content, 1 << 16, options);
  const report = JSON.parse(jsonReport(buildReport(analyze(input, { toleranceNs: 1_000_000 }))));
  return JSON.stringify({ ...report, input: { ...report.input, files: [] } });
}

for (const [name, content] of [...Object.entries(RICH_ENCODINGS), ...Object.entries(PLAIN_ENCODINGS)]) {
  test(`${name}: the same report with the attributes the analysis reads alone`, async () => {
    assert.equal(await reportOf(content, { keep }), await reportOf(content, {}));
  });
}

test('what is not kept still tells copies apart, in whatever order and spelling it comes', async () => {
  const span = (attributes: string) =>
    `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${'a'.repeat(32)}","spanId":"${'b'.repeat(16)}","name":"n","startTimeUnixNano":"1750000000000000001","endTimeUnixNano":"1750000000000000002","attributes":[${attributes}]}]}]}]}`;
  const texts = '{"key":"x.a","value":{"stringValue":"two words"}}';
  const number = '{"key":"x.b","value":{"intValue":"5"}}';
  const flag = '{"key":"x.c","value":{"boolValue":true}}';
  const same = [
    [texts, number, flag],
    [flag, number.replace('"5"', '5'), texts],
    [texts.replace('words', 'w\\u006frds'), flag, number.replace('intValue":"5"', 'doubleValue":5')],
    [texts.replace(':{', ': {'), number, flag],
  ].map((list) => span(list.join(',')));
  const table = (await readBytes(same.join('\n'), 1 << 16, { keep })).table;
  assert.equal(table.length, same.length);
  assert.equal(new Set(table.attributeRest).size, 1);
  assert.equal(repairTrees(table).counters.duplicates, same.length - 1);
  const others = [
    [texts, number],
    [texts, flag, number.replace('5', '6')],
    [texts.replace('two', 'six'), number, flag],
    [texts.replace('x.a', 'x.d'), number, flag],
    [texts, number, flag.replace('true', 'false')],
    [texts.replace('stringValue":"two words"', 'intValue":"1"'), number, flag],
  ].map((list) => span(list.join(',')));
  for (const other of others) {
    const both = (await readBytes(`${same[0]}\n${other}`, 1 << 16, { keep })).table;
    assert.notEqual(both.attributeRest[0], both.attributeRest[1], other);
    // Their texts decide which one counts, and those are not there.
    assert.throws(() => repairTrees(both), AllAttributesNeeded);
    const all = (await readBytes(`${same[0]}\n${other}`)).table;
    assert.equal(repairTrees(all).counters.conflicts, 1);
  }
});

test('a table read without a key refuses to say that nobody has it', async () => {
  const { table } = await readBytes(RICH_ENCODINGS['json lines'], 1 << 16, { keep });
  assert.equal(attribute(table, 0, 'http.route'), '/buy/:id');
  assert.throws(() => attribute(table, 0, 'ratio'), /was not kept/);
});

test('events are dropped with the rest, and still tell copies apart', async () => {
  const all = await readBytes(RICH_ENCODINGS['json lines']);
  assert.ok(all.table.events.size > 0);
  const some = await readBytes(RICH_ENCODINGS['json lines'], 1 << 16, { keep });
  assert.equal(some.table.events.size, 0);
  const [row] = all.table.events.keys();
  assert.notEqual(some.table.attributeRest[row], 0);
});
