import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { BulkheadFullError, Semaphore } from '../../sample-app/src/labs/semaphore.ts';
import { table } from '../../sample-app/src/labs/table.ts';
import { completedPerSecond, meanVisit, readVisits } from '../../sample-app/src/labs/visits.ts';
import type { StepResult } from '../../sample-app/src/load/step-recorder.ts';

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

test('visits are read from spans: all count as received, those that got the resource wait and hold, and complete', async () => {
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
  const visits = await readVisits(file, 'slots');
  assert.equal(visits.length, 3);
  assert.deepEqual(meanVisit(visits), { count: 2, meanWaitNs: 100, meanHoldNs: 100 });
  const step = { startUnixNano: '0', endUnixNano: '300' } as StepResult;
  assert.equal(Math.round(completedPerSecond(visits, step) * 300e-9), 1, 'released at 250, not at 350');
  assert.deepEqual(meanVisit(await readVisits(file, 'pool')), {
    count: 0,
    meanWaitNs: null,
    meanHoldNs: null,
  });
  rmSync(directory, { recursive: true });
});
