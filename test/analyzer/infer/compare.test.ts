import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { compareRuns } from '../../../analyzer/src/infer/compare/index.ts';
import { manifestDifferences } from '../../../analyzer/src/infer/compare/manifest.ts';
import type { AttributeValue } from '../../../analyzer/src/model/attributes.ts';
import { type Nested, nestedService, type Step, steps } from './service.ts';

const RISING: Step[] = [20, 40, 60, 80, 100, 120].map((perSecond) => ({ perSecond, seconds: 3 }));
const BEFORE = { beforeMs: 2, lockedMs: 12, poolSize: 5, slots: 20 };

function run(shape: Nested, manifest: AttributeValue, list: readonly Step[] = RISING) {
  const input = nestedService(list, shape, false);
  const { plan } = steps(list);
  const content = { ...(plan as object), manifest, objective: { p99Ms: 200 } } as AttributeValue;
  return analyze({ ...input, loadPlans: [{ path: 'load.json', content }] });
}

test('a change that halves the hold: the knee moves as the before run predicted', () => {
  const before = run(BEFORE, { audit: 'inside', pool: { size: 5 } });
  const after = run({ ...BEFORE, lockedMs: 10 }, { audit: 'outside', pool: { size: 5 } });
  const record = compareRuns(before, after);
  assert.equal(record.change.text, 'audit inside -> outside');
  assert.match(record.phenomenon[0].text, /p99 < 200 ms is broken at/);
  assert.match(record.hypothesis[0].text, /lock:campaign -> pg-pool:signup -> http\.server/);
  assert.match(record.conclusion, /knee moved from 83\.\d\/s to (99|100|101)/);
  assert.equal(record.prediction.change, 'lock:campaign hold x0.833');
  assert.equal(record.prediction.held, true);
  assert.equal(record.sameLoad.length, 6);
  const resource = record.sameResource[0].pairs.find((pair) => pair.what === 'own demand a request');
  assert.ok(
    Math.abs((resource?.before as number) - 12e6) < 1e4 && Math.abs((resource?.after as number) - 10e6) < 1e4,
  );
  const met = (line: RegExp) => record.checklist.find((one) => line.test(one.line))?.met;
  assert.equal(met(/exactly one variable/), 'met');
  assert.equal(met(/predicted before/), 'met');
  assert.equal(met(/generator was not the limit/), 'unknown');
  assert.equal(met(/invariants/), 'unknown');
});

test('two variables at once are flagged', () => {
  const before = run(BEFORE, { audit: 'inside', pool: { size: 5 } });
  const after = run({ ...BEFORE, poolSize: 10 }, { audit: 'outside', pool: { size: 10 } });
  const record = compareRuns(before, after);
  assert.match(record.change.text, /^2 variables changed at once/);
  assert.equal(record.checklist.find((one) => /exactly one/.test(one.line))?.met, 'not met');
});

test('a tempting fix that does not touch the first queue is predicted to do nothing', () => {
  const before = run(BEFORE, { slots: 20 });
  const after = run({ ...BEFORE, slots: 40 }, { slots: 40 });
  const { prediction, sideEffects } = compareRuns(before, after);
  assert.equal(prediction.change, null);
  assert.match(prediction.text, /did not touch the first queue, so the knee should stay/);
  assert.match(sideEffects.map((one) => one.text).join(), /still lock:campaign/);
});

test('an after run that does not saturate moved the knee beyond its top', () => {
  const before = run(BEFORE, { v: 1 });
  const after = run({ ...BEFORE, lockedMs: 2 }, { v: 2 });
  assert.match(compareRuns(before, after).conclusion, /to beyond 120\/s/);
});

test('names and times of runs are no settings', () => {
  assert.deepEqual(
    manifestDifferences(
      { name: 'a', startedAt: 1, pool: { size: 5 }, mix: [1, 2] },
      { name: 'b', startedAt: 2, pool: { size: 6 }, mix: [1, 2], extra: true },
    ),
    [
      { path: 'extra', before: null, after: 'true' },
      { path: 'pool.size', before: '5', after: '6' },
    ],
  );
  assert.equal(manifestDifferences(null, {}), null);
});
