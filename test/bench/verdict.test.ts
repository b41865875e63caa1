import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../analyzer/src/infer/analysis.ts';
import { toInput } from '../sim/export/index.ts';
import { FULL_EXPORT } from '../sim/export/types.ts';
import { planLoad } from '../sim/generate.ts';
import { simulate } from '../sim/simulate.ts';
import { hotRow } from '../sim/small.ts';
import type { Truth } from '../sim/truth.ts';
import { type Score, score } from './verdict/score.ts';

const print = { seed: 3, family: 'lock', shape: 'plain', target: 'lock', scenario: hotRow() } as const;
const first = { kind: 'lock', resource: 'lock:campaign', index: 0 } as const;

/** What is true of the hot row by construction: 99.8/s, the pool before it fills. */
const truth: Truth = {
  kneePerSecond: 99.8,
  first,
  acceptable: [first.resource],
  reliefs: [],
  saturates: true,
  chain: [first.resource, 'pg-pool:signup'],
  chainOptional: [],
  whatIf: [],
};

function scoreOf(coverage: 'rising' | 'below', known: Truth): Score {
  const scenario = planLoad(print, known.kneePerSecond, 900, coverage);
  const run = simulate(scenario, { record: true, stopAtEnd: false });
  const analysis = analyze(toInput(run, FULL_EXPORT));
  const item = { ...print, variant: 'full', saturates: coverage === 'rising', truth: known, scenario };
  return score({ ...item, analyzeMs: 0, spans: 0, compared: 0, differing: 0 }, analysis, null);
}

test('a hot row past its knee is named, with the pool it fills', () => {
  const result = scoreOf('rising', truth);
  assert.equal(result.answer, 'lock:campaign');
  assert.ok(result.right && result.acceptableRight && result.chainExact, JSON.stringify(result.chainAnswer));
  assert.ok(result.kneeError !== null && Math.abs(result.kneeError) < 0.15, `knee error ${result.kneeError}`);
});

test('below the knee nothing is named, and the row is said to be next', () => {
  const result = scoreOf('below', truth);
  assert.equal(result.answer, null);
  assert.ok(result.nextRight, `${result.nextAnswer}`);
  assert.ok(result.nextError !== null && Math.abs(result.nextError) < 0.15, `rate error ${result.nextError}`);
});

test('the scoring can fail: the same answer against another truth', () => {
  const other = { kind: 'pool', resource: 'pg-pool:signup', index: 0 } as const;
  const wrong = scoreOf('rising', {
    ...truth,
    first: other,
    acceptable: [other.resource],
    chain: [other.resource],
  });
  assert.ok(!wrong.right && !wrong.acceptableRight && !wrong.chainExact);
});
