import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Phase } from '../../sample-app/src/load/manifest.ts';
import { judgeObjective } from '../../sample-app/src/load/objective.ts';
import { type EndedRequest, StepRecorder } from '../../sample-app/src/load/step-recorder.ts';

/** A step in which `good` requests took `ms`, and `bad` ones were rejected. */
function step(phase: Phase, rate: number, good: number, bad: number, ms: number, appCores: number | null) {
  const recorder = new StepRecorder({ phase, seconds: 1, arrivalsPerSecond: rate });
  const ended: EndedRequest = {
    outcome: 'succeeded',
    attempts: 1,
    fromPlannedNs: ms * 1e6,
    fromSentNs: ms * 1e6,
    serverQueueMs: null,
    serverWorkMs: null,
  };
  for (let index = 0; index < good + bad; index++) {
    recorder.plan('get');
    recorder.start(0);
    recorder.end('get', { ...ended, outcome: index < good ? 'succeeded' : 'rejected' });
  }
  return recorder.result({
    startNs: 0n,
    endNs: 1_000_000_000n,
    cpu: { byName: { app: appCores }, others: 0.1 },
    generatorRunDelayNs: null,
    succeededMeanwhile: good,
  });
}

test('the detail says at which rate an objective broke; overload does not count', () => {
  const steps = [
    step('ramp', 50, 50, 0, 20, 0.3),
    step('ramp', 80, 76, 4, 900, 0.5),
    step('overload', 200, 90, 110, 4000, 1),
  ];
  const objective = { p99Ms: 200, errorShare: 0.1, appCpuShare: 0.65, dbCpuShare: 0.6, goodputPerSecond: 95 };
  assert.deepEqual(judgeObjective(objective, steps), [
    { objective: 'p99 ms <= 200', met: false, detail: '900 at 80/s' },
    { objective: 'error share <= 0.1', met: true, detail: 'kept in all steps, up to 80/s' },
    { objective: 'service cores <= 0.65', met: true, detail: 'kept in all steps, up to 80/s' },
    { objective: 'database cores <= 0.6', met: null, detail: 'not measured' },
    { objective: 'goodput per second >= 95', met: false, detail: '90.0 at most' },
  ]);
  assert.deepEqual(judgeObjective(undefined, steps), []);
});
