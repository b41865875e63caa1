import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startSession } from '../../../analyzer/src/tui/remote-session.ts';
import type { Stage } from '../../../analyzer/src/tui/session.ts';
import type { Job } from '../../../analyzer/src/tui/worker.ts';
import { goldenPlan, goldenTraces } from './golden-input.ts';

const directory = mkdtempSync(join(tmpdir(), 'waitfall-remote-'));
after(() => rmSync(directory, { recursive: true, force: true }));

const jobOf = (path: string): Job => ({
  paths: [path],
  title: 'run',
  analyze: {},
  rulesYaml: null,
  build: {},
  manifest: null,
});

test('the worker says how far it is: reading, the requests, the whole; what is asked early is answered', async () => {
  writeFileSync(join(directory, 'traces.jsonl'), goldenTraces());
  writeFileSync(join(directory, 'load.json'), goldenPlan());
  const live = startSession(jobOf(directory));
  const stages: Stage[] = [live.session.stage];
  let early: ReturnType<typeof live.session.trace> | undefined;
  live.onChange(() => {
    const { session } = live;
    if (session.stage !== stages.at(-1)) stages.push(session.stage);
    if (session.stage !== 'requests') return;
    assert.equal(session.traces.count, 200);
    assert.equal(session.report.requests.count, 200);
    assert.equal(session.report.resources.length, 0, 'queues are not known yet');
    early ??= session.trace(0);
  });
  await live.complete;
  assert.deepEqual(stages, ['reading', 'requests', 'complete']);
  const { session } = live;
  assert.equal(session.progress, null);
  assert.ok(session.report.resources.length > 0);
  assert.ok(session.traces.durationNs.buffer instanceof SharedArrayBuffer, 'held once, not copied');
  const trace = await early!;
  assert.equal(
    trace.rows.reduce((sum, row) => sum + row.ownedNs, 0),
    trace.durationNs,
  );
  await assert.rejects(session.whatIf('nonsense'), /nonsense/);
  live.close();
});

test('what cannot be read is said by the worker in its own words', async () => {
  const live = startSession({ ...jobOf(directory), rulesYaml: 'rules: [' });
  await assert.rejects(live.complete);
  live.close();
});
