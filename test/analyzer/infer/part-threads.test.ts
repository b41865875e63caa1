import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PartThreads } from '../../../analyzer/src/infer/part-threads.ts';
import { sharedI32 } from '../../../analyzer/src/model/shared-memory.ts';

test('a thread that dies gives nothing, and keeps nobody waiting', { timeout: 20_000 }, async () => {
  // There is nothing to open.
  const parts = { memory: {} } as never;
  const start = { parts, options: {}, rules: null, firstRow: [0], expectedRows: 0 } as never;
  const known = {
    substitutes: false,
    originUnixNano: 0n,
    instrumented: new Set<string>(),
    fewTexts: true,
    kinds: new Map(),
  };
  const threads = new PartThreads(1, start);
  assert.equal(await threads.gather({ known, next: sharedI32(1) }), null);
  const task = { requests: {}, parts: {}, windows: 0 } as never;
  assert.equal(await threads.group(task), null);
  assert.deepEqual(await threads.gather({ known, next: sharedI32(1) }), []);
  await threads.close();
});
