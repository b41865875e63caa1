import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readInputs } from '../../analyzer/src/read/index.ts';
import { demands } from '../sim/demand.ts';
import { writeOtlp } from '../sim/export/index.ts';
import { FULL_EXPORT } from '../sim/export/types.ts';
import { blueprint, planLoad } from '../sim/generate.ts';
import { simulate } from '../sim/simulate.ts';
import { SAMPLING_GATES, skipWithoutCollector as skip } from './support/binary.ts';
import { startCollector, until } from './support/collector.ts';
import { reportOf } from './support/report-of.ts';
import { subfolder, testFolder } from './support/spans-of.ts';

const SHARE = 0.2;

test('the report of what a gateway kept agrees with the report of everything', { skip }, async (t) => {
  const folder = testFolder(t);
  const [everything, kept] = [subfolder(folder, 'everything'), subfolder(folder, 'kept')];
  const service = blueprint(11, { family: 'pool-a', shape: 'plain' });
  const knee = Math.min(...demands(service.scenario).map((demand) => demand.saturatesAtPerSecond));
  const run = simulate(planLoad(service, knee, 3000), { record: true, stopAtEnd: false });
  await writeOtlp(run, FULL_EXPORT, everything);
  const full = reportOf(await readInputs([everything]));
  assert.equal(full.verdict.status, 'saturated');

  const gateway = await startCollector({
    config: 'gateway.yaml',
    env: {
      WAITFALL_DIR: kept,
      WAITFALL_SHARE_PERCENT: String(SHARE * 100),
      // Slow is what is rare while nothing queues: the tail of every window is then kept whole.
      WAITFALL_SLOW_MS: String(Math.round(full.windows[0].latencyNs.p95! / 1e6)),
      WAITFALL_DECISION_WAIT: '2s',
    },
    args: [SAMPLING_GATES],
  });
  t.after(() => gateway.kill());
  for (const line of readFileSync(join(everything, 'traces.jsonl'), 'utf8').trim().split('\n')) {
    const answer = await fetch(`${gateway.otlpHttp}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: line,
    });
    assert.equal(answer.status, 200, await answer.text());
  }
  await until('every trace decided', async () => {
    const decided = await gateway.counter('otelcol_processor_tail_sampling_global_count_traces_sampled');
    return decided >= run.requests.length;
  });
  await gateway.stop();
  copyFileSync(join(everything, 'load.json'), join(kept, 'load.json'));
  const sampled = reportOf(await readInputs([kept]));

  assert.ok(sampled.input.requests < full.input.requests * 0.7, `${sampled.input.requests} kept`);
  assert.deepEqual(sampled.verdict.first, full.verdict.first);
  assert.equal(sampled.windows.length, full.windows.length);
  const rates = (report: typeof full) => report.windows.map((window) => window.receivedPerSecond!);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  assert.ok(
    Math.abs(sum(rates(sampled)) / sum(rates(full)) - 1) < 0.05,
    `${rates(sampled)} for ${rates(full)}`,
  );
  // Whatever limit beyond the noise below the knee one sets to p99, both say within one load step where it breaks.
  const p99 = (report: typeof full) => report.windows.map((window) => window.latencyNs.p99!);
  const breaksAt = (report: typeof full, limitNs: number) =>
    p99(report).findIndex((value) => value > limitNs);
  const low = 2 * Math.max(...p99(full).slice(0, 4));
  const high = Math.max(...p99(full));
  assert.ok(high > 2 * low, `no knee in ${p99(full)}`);
  for (let i = 0; i < 10; i++) {
    const limitNs = low * (high / low) ** (i / 10);
    const steps = Math.abs(breaksAt(sampled, limitNs) - breaksAt(full, limitNs));
    assert.ok(steps <= 1, `p99 < ${limitNs / 1e6} ms: ${p99(sampled)} for ${p99(full)}`);
  }
  // Counts and the decomposition are those of everything, not of what was kept.
  assert.ok(Math.abs(sampled.requests.count / full.requests.count - 1) < 0.05, `${sampled.requests.count}`);
  for (const part of full.requests.segments.filter(({ share }) => share > 0.05)) {
    const found = sampled.requests.segments.find(
      ({ service, segment, resource }) =>
        service === part.service && segment === part.segment && resource === part.resource,
    );
    const close = found && Math.abs(found.meanNs / part.meanNs - 1) < 0.1;
    assert.ok(close, `${part.segment} ${part.resource}: ${found?.meanNs} for ${part.meanNs} ns a request`);
  }
  // Each within one load step of where the service does saturate.
  const step = full.windows[1].plannedPerSecond! - full.windows[0].plannedPerSecond!;
  for (const { verdict } of [full, sampled]) {
    assert.ok(Math.abs(verdict.kneePerSecond! - knee) <= step, `knee ${verdict.kneePerSecond} for ${knee}`);
  }
});
