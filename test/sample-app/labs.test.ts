import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { BulkheadFullError, Semaphore } from '../../sample-app/src/labs/semaphore.ts';
import { table } from '../../sample-app/src/labs/table.ts';
import { readWaits } from '../../sample-app/src/labs/waits.ts';

test('a semaphore lets in as many as it has permits, queues in order, and turns the others away', async () => {
  const semaphore = new Semaphore(2, 2);
  await Promise.all([semaphore.acquire(), semaphore.acquire()]);
  const order: string[] = [];
  const first = semaphore.acquire()?.then(() => order.push('first'));
  const second = semaphore.acquire()?.then(() => order.push('second'));
  assert.throws(() => semaphore.acquire(), BulkheadFullError);
  assert.deepEqual([semaphore.inUse, semaphore.waiting], [2, 2]);
  semaphore.release();
  await first;
  assert.deepEqual(order, ['first']);
  semaphore.release();
  await second;
  semaphore.release();
  semaphore.release();
  assert.deepEqual([semaphore.inUse, semaphore.waiting], [0, 0]);
});

test('a table aligns its columns', () => {
  assert.deepEqual(
    table(
      ['name', 'n'],
      [
        ['a', '1'],
        ['long', '100'],
      ],
    ),
    ['name    n', 'a       1', 'long  100'],
  );
});

test('waits are read from spans: those that got the resource, with their holds', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'waitfall-test-'));
  const span = (name: string, start: number, end: number, outcome: string, hold?: number) => ({
    name,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(end),
    attributes: [
      { key: 'waitfall.outcome', value: { stringValue: outcome } },
      ...(hold === undefined
        ? []
        : [{ key: 'waitfall.hold.duration_ns', value: { intValue: String(hold) } }]),
    ],
  });
  const spans = [
    span('wait_for slots', 100, 300, 'acquired', 50),
    span('wait_for slots', 100, 100, 'acquired', 150),
    span('wait_for slots', 100, 900, 'timeout'),
    span('wait_for slots of another', 0, 999, 'acquired', 1),
  ];
  const file = join(directory, 'traces.jsonl');
  writeFileSync(file, `${JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })}\n`);
  assert.deepEqual(await readWaits(file, 'slots'), { count: 2, meanWaitNs: 100, meanHoldNs: 100 });
  assert.deepEqual(await readWaits(file, 'pool'), { count: 0, meanWaitNs: null, meanHoldNs: null });
  rmSync(directory, { recursive: true });
});
