import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Activity } from '../../../analyzer/src/aggregate/activity.ts';
import type { LoadPlan } from '../../../analyzer/src/aggregate/load-plan.ts';
import type { Requests } from '../../../analyzer/src/aggregate/requests-types.ts';
import { findKnee } from '../../../analyzer/src/infer/knee.ts';
import { frame, model } from './sketch.ts';

/** The knee of a loop whose demand alone allows 95 requests a second, by what a pool completed at some rates. */
function knee(rates: readonly number[], completedPerSecond: readonly number[]) {
  const flat = rates.map(() => 1);
  const loop = model(
    { index: 0, name: 'eventloop', kind: 'eventloop', saturatesAt: 95, waitMs: flat },
    rates,
  );
  const pool = model({ index: 1, name: 'pg-pool:a', kind: 'pool', saturatesAt: 500, waitMs: flat }, rates);
  const steps = frame(rates);
  for (const [w, rate] of completedPerSecond.entries()) {
    pool.lane.completions[w] = rate * steps.timeline.windows[w].seconds;
  }
  const planned = { ...steps, timeline: { ...steps.timeline, plan: {} as LoadPlan } };
  return findKnee(loop, 95, false, [loop, pool], planned, {} as Activity, {} as Requests);
}

test('rule 8: overload that brings less than what was kept up with leaves the knee between the rates tried', () => {
  const { perSecond, how } = knee([50, 140], [50, 41]);
  assert.equal(perSecond, 95);
  assert.match(how, /between 50\/s, with which it kept up, and 140\/s/);
  // Tried in between: no more than it was seen to do.
  assert.equal(knee([50, 80, 92, 140], [50, 80, 85, 70]).perSecond, 80);
  assert.equal(knee([50, 85, 100], [50, 85, 70]).perSecond, 85);
});

test('rule 8: what a service did while it kept up says nothing of what it can do when more is asked', () => {
  assert.equal(knee([50, 140], [50, 88]).perSecond, 88);
  assert.equal(knee([50, 140, 160], [50, 88, 86]).perSecond, 87);
});
