import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { skipWithoutCollector as skip } from './support/binary.ts';
import { startCollector } from './support/collector.ts';
import { findingsAsJson, reportOf } from './support/report-of.ts';
import { spansAsText, subfolder, testFolder } from './support/spans-of.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A few seconds of rising load. */
const LOAD = {
  name: 'collector check',
  seed: 3,
  model: 'open',
  arrivals: 'random',
  maxInFlight: 500,
  timeoutMs: 10_000,
  steps: [20, 35, 50, 70].map((arrivalsPerSecond) => ({ phase: 'ramp', arrivalsPerSecond, seconds: 2 })),
  requests: [
    {
      name: 'sign-up',
      share: 1,
      method: 'POST',
      path: '/signup',
      body: { campaign: 1, user: '{{sequence hot}}', age: '{{integer 20 60}}', region: 'r{{integer 0 96}}' },
      success: [201],
    },
  ],
  objective: { p99Ms: 1000, errorShare: 0.001 },
};

test('a run of the sample app gives the same verdict through the collector as from its own file', {
  skip,
}, async (t) => {
  const folder = testFolder(t);
  const [out, runs] = [subfolder(folder, 'out'), subfolder(folder, 'runs')];
  const manifest = join(folder, 'load.yaml');
  writeFileSync(manifest, JSON.stringify(LOAD));
  const collector = await startCollector({ config: 'local.yaml', env: { WAITFALL_DIR: out } });
  t.after(() => collector.kill());

  const study = spawn(
    process.execPath,
    [
      '--conditions=waitfall-source',
      'sample-app/src/case-study/main.ts',
      ...['--variants', 'before', '--manifest', manifest, '--registrations', '1000', '--out', runs],
    ],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', OTEL_EXPORTER_OTLP_ENDPOINT: collector.otlpHttp },
    },
  );
  t.after(() => study.kill());
  let log = '';
  for (const stream of [study.stdout, study.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
  }
  // Its exit code judges the load against the objectives of the case study, which this short one need not meet.
  await once(study, 'close');
  const [run] = readdirSync(runs).map((name) => join(runs, name));
  assert.ok(run && readdirSync(run).includes('traces.jsonl'), log);
  await collector.stop();

  const direct = subfolder(folder, 'direct');
  for (const name of ['traces.jsonl', 'load.json']) copyFileSync(join(run, name), join(direct, name));
  copyFileSync(join(run, 'load.json'), join(out, 'load.json'));
  const [through, own] = [await readInputs([out]), await readInputs([direct])];
  assert.deepEqual(through.rejected, []);
  assert.ok(own.table.length > 1000, log);
  assert.ok(own.table.strings.find('wait_for lock:campaign') >= 0, 'no waits in the file');
  assert.equal(through.table.length, own.table.length, 'spans exported');
  assert.deepEqual(spansAsText(through), spansAsText(own));
  const [throughReport, ownReport] = [reportOf(through), reportOf(own)];
  assert.deepEqual(throughReport.verdict, ownReport.verdict);
  assert.equal(findingsAsJson(throughReport), findingsAsJson(ownReport));
});
