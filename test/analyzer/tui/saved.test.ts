import assert from 'node:assert/strict';
import { test } from 'node:test';
import { savedView } from '../../../analyzer/src/tui/model/saved.ts';
import { orderTraces } from '../../../analyzer/src/tui/model/traces.ts';
import { frameOf, type View } from '../../../analyzer/src/tui/state.ts';
import { hotRowInput, sessionOf } from './support.ts';

const session = sessionOf(hotRowInput());
const parsed = async (...frame: Parameters<typeof frameOf>) => {
  const { extension, text } = await savedView(session, frameOf(...frame), 2);
  assert.equal(extension, 'json');
  return JSON.parse(text);
};

test('every view is written as what it shows', async () => {
  assert.equal((await parsed('steps')).windows.length, session.report.windows.length);
  assert.equal((await parsed('queues')).resources.length, session.report.resources.length);
  assert.equal((await parsed('routes')).routes[0].route, session.report.routes[0].route);
  assert.equal((await parsed('input')).input.traces, session.report.input.traces);
  const queue = await parsed('queue', { resource: 'lock:campaign' });
  assert.equal(queue.resource.resource, 'lock:campaign');
  assert.ok(queue.waits.longest[0].waitNs >= queue.waits.longest[1].waitNs);
  for (const view of ['verdict', 'confidence', 'help'] satisfies View[]) {
    const { extension, text } = await savedView(session, frameOf(view), 2);
    assert.equal(extension, 'md');
    assert.ok(text.length > 200);
  }
});

test('the list of traces is written as filtered and sorted, and each trace adds up', async () => {
  const filter = 'duration>50ms';
  const { traces } = await parsed('traces', { filter });
  const { order } = orderTraces(session, filter, 0, false);
  assert.deepEqual(
    traces.map(({ traceId }: { traceId: string }) => traceId),
    [...order].map((index) => session.traces.traceIds[index]),
  );
  for (const { durationNs, segmentsNs } of traces) {
    const sum = (Object.values(segmentsNs) as number[]).reduce((a, b) => a + b, 0);
    assert.equal(sum, durationNs);
  }
});

test('a trace is written with all attributes of its spans', async () => {
  const trace = await parsed('trace', { trace: 0 });
  assert.equal(trace.rows[0].attributes.length > 0, true);
  assert.equal(
    trace.rows.reduce((sum: number, row: { ownedNs: number }) => sum + row.ownedNs, 0),
    trace.durationNs,
  );
});
