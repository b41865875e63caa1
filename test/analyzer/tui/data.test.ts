import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Data } from '../../../analyzer/src/tui/data.ts';
import { emptySession } from '../../../analyzer/src/tui/empty-session.ts';
import type { TraceDetail } from '../../../analyzer/src/tui/session.ts';

/** A session whose traces all have that many spans; counts how often one is asked for. */
function sessionOfTraces(spans: number) {
  const asked: number[] = [];
  const never = () => Promise.reject(new Error('not asked for here'));
  const session = emptySession('traces', {
    trace: async (index) => {
      asked.push(index);
      return { index, rows: new Array(spans), pieces: new Array(spans) } as unknown as TraceDetail;
    },
    span: never,
    waits: never,
    whatIf: never,
    step: never,
    split: never,
  });
  return { data: new Data(session, () => {}), asked };
}

async function look(data: Data, index: number): Promise<TraceDetail | undefined> {
  data.trace(index);
  await new Promise((resolve) => setImmediate(resolve));
  return data.trace(index);
}

test('small traces are kept, so that going back to them is free', async () => {
  const { data, asked } = sessionOfTraces(10);
  for (let index = 0; index < 50; index++) await look(data, index);
  await look(data, 0);
  assert.equal(asked.length, 50);
});

test('of large traces only the last few are kept, and one that is larger than all of them is still shown', async () => {
  const { data, asked } = sessionOfTraces(100_000);
  for (const index of [0, 1, 2]) assert.equal((await look(data, index))?.index, index);
  await look(data, 2);
  assert.deepEqual(asked, [0, 1, 2]);
  await look(data, 0);
  assert.deepEqual(asked, [0, 1, 2, 0], 'the first had to go');
  const huge = sessionOfTraces(1_000_000);
  assert.equal((await look(huge.data, 7))?.index, 7);
});

test('what cannot be loaded is said, and not asked for again at every picture', async () => {
  let changes = 0;
  const { session } = sessionOfTraces(1).data;
  const data = new Data(session, () => changes++);
  assert.equal(data.waits('lock:campaign'), undefined);
  await new Promise((resolve) => setImmediate(resolve));
  assert.match(data.error, /not asked for here/);
  assert.equal(data.waits('lock:campaign'), undefined);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(changes, 1);
});
