import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from '../../../analyzer/src/cli/load.ts';

const span = (id: string, more: object[]) => ({
  traceId: 'a'.repeat(32),
  spanId: id,
  name: 'GET',
  kind: 2,
  startTimeUnixNano: '1750000000000000001',
  endTimeUnixNano: '1750000000000000101',
  attributes: [{ key: 'http.route', value: { stringValue: '/x' } }, ...more],
});
const line = (...spans: object[]) => `${JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })}\n`;
const note = (stringValue: string) => [{ key: 'app.note', value: { stringValue } }];

test('an input is read without the attributes nobody asks for, and again with all where copies differ in them', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'waitfall-sparing-'));
  try {
    const path = join(directory, 'traces.jsonl');
    const flags = { color: false } as Parameters<typeof load>[1];
    const one = span('b'.repeat(16), note('one'));
    writeFileSync(path, line(one) + line(one));
    const same = await load([path], flags);
    assert.equal(same.forest.counters.duplicates, 1);
    assert.equal(same.input.table.strings.find('one'), -1, 'the text was never stored');
    writeFileSync(path, line(one) + line(span('b'.repeat(16), note('two'))));
    const different = await load([path], flags);
    assert.equal(different.forest.counters.conflicts, 1);
    assert.equal(different.input.table.keptKeys, null);
    writeFileSync(path, line(one));
    assert.ok((await load([path], { ...flags, by: 'app.note' })).input.table.strings.find('one') > 0);
    assert.equal((await load([path], flags, 'all')).input.table.keptKeys, null);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
