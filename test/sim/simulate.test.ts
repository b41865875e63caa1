import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { classify } from '../../analyzer/src/classify/classify.ts';
import { partition } from '../../analyzer/src/partition/partition.ts';
import { DEFAULT_REPAIR, repairTrees } from '../../analyzer/src/tree/repair.ts';
import { demands } from './demand.ts';
import { traceIdOf } from './export/identity.ts';
import { toInput } from './export/index.ts';
import { FULL_EXPORT } from './export/types.ts';
import { blueprint, SHAPES, type Shape } from './generate.ts';
import { planLoad } from './plan-load.ts';
import type { Run } from './run.ts';
import { simulate } from './simulate.ts';

function runOf(seed: number, shape: Shape, requests = 200): Run {
  const print = blueprint(seed, { shape });
  const bound = Math.min(...demands(print.scenario).map((demand) => demand.saturatesAtPerSecond));
  const { load, ...rest } = planLoad(print, bound, requests, 'rising');
  const planned = load.steps.reduce((sum, step) => sum + (step.arrivalsPerSecond * step.durationNs) / 1e9, 0);
  // Services with long latencies get long steps; a few requests say as much here.
  const steps = load.steps.map((step) => ({
    ...step,
    durationNs: Math.round((step.durationNs * requests) / planned),
  }));
  return simulate({ ...rest, load: { ...load, steps } }, { record: true, stopAtEnd: false });
}

const runs = SHAPES.map((shape, i) => ({ shape, run: runOf(40 + i, shape) }));

test('the same seed gives the same run, another seed another', () => {
  const text = (run: Run): string =>
    JSON.stringify(run.spans.map(({ id, role, startNs, endNs }) => [id, role, startNs, endNs]));
  assert.equal(text(runOf(3, 'replicas')), text(runOf(3, 'replicas')));
  assert.notEqual(text(runOf(3, 'replicas')), text(runOf(11, 'replicas')));
});

test('recording changes nothing', () => {
  for (const { shape, run } of runs) {
    const silent = simulate(run.scenario, { record: false, stopAtEnd: false });
    assert.deepEqual(
      silent.requests.map(({ arrivalNs, endNs, outcome }) => [arrivalNs, endNs, outcome]),
      run.requests.map(({ arrivalNs, endNs, outcome }) => [arrivalNs, endNs, outcome]),
      shape,
    );
  }
});

test('what enters leaves', () => {
  for (const { shape, run } of runs) {
    assert.ok(run.requests.length > 100, shape);
    assert.ok(
      run.requests.every((request) => request.endNs > request.arrivalNs || request.outcome === 'rejected'),
    );
    for (const span of run.spans) assert.ok(span.endNs >= span.startNs, `${shape}: ${span.role} ${span.id}`);
  }
});

test('ledgers add up to latencies', () => {
  for (const { shape, run } of runs) {
    for (const { id, arrivalNs, endNs, ledger } of run.requests) {
      const sum = ledger!.ns.reduce((a, b) => a + b, 0);
      assert.equal(sum, endNs - arrivalNs, `${shape}: request ${id}`);
    }
  }
});

test('the partition of the exported spans is the ledger, to the nanosecond', () => {
  for (const { shape, run } of runs) {
    for (const spans of ['waitfall', 'both'] as const) {
      const { table } = toInput(run, { ...FULL_EXPORT, spans });
      const forest = repairTrees(table, DEFAULT_REPAIR);
      const { owned } = partition(forest);
      const { segment } = classify(table, forest);
      const ledgers = new Map(run.requests.map((r) => [traceIdOf(run.scenario.seed, r.id), r.ledger!.ns]));
      assert.equal(forest.trees.length, run.requests.length);
      for (const { root, first, count } of forest.trees) {
        const sums = new Float64Array(SEGMENTS.length);
        for (const row of forest.order.subarray(first, first + count)) sums[segment[row]] += owned[row];
        const id = table.traceIds[table.trace[root]];
        assert.deepEqual(withoutPause(sums, ledgers.get(id)!), ledgers.get(id), `${shape}, ${spans}, ${id}`);
      }
    }
  }
});

/**
 * A ledger books a wait to its end; in the partition a pause that outlasts the end of a wait owns it from the pause's
 * start on, since the request could not have gone on earlier. Gives that time back to the one wait it was taken from.
 */
function withoutPause(sums: Float64Array, ledger: Float64Array): Float64Array {
  const pause = SEGMENTS.indexOf('runtime_pause');
  const robbed = sums.findIndex((ns, i) => ns < ledger[i]);
  if (robbed < 0 || !SEGMENTS[robbed].endsWith('_wait')) return sums;
  const given = sums.slice();
  given[robbed] += given[pause];
  given[pause] = 0;
  return given;
}

test('services differ: branches, tails, pauses, row locks and new connections all occur', () => {
  const seeds = Array.from({ length: 24 }, (_, seed) => seed);
  const roles = new Set(seeds.flatMap((seed) => runOf(seed, 'plain', 60).spans.map((span) => span.role)));
  for (const role of ['branch', 'tail', 'pause', 'lock', 'connect'] as const)
    assert.ok(roles.has(role), role);
});
