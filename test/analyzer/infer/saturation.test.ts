import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSaturated } from '../../../analyzer/src/infer/saturation.ts';
import { frame, model, type Sketch } from './sketch.ts';

const FULL = [0.3, 0.4, 0.6, 0.8, 0.95, 1];
const HOLD_MS = [10, 10, 10, 10, 10, 10];
const queue = (sketch: Partial<Sketch>) =>
  isSaturated(
    model({
      index: 0,
      name: 'lock:stock',
      kind: 'lock',
      saturatesAt: 100,
      waitMs: [1, 1, 2, 3, 4, 6],
      holdMs: HOLD_MS,
      utilization: FULL,
      ...sketch,
    }),
    frame(),
  );

test('rule 6: a stated queue that is full and makes wait is saturated', () => {
  assert.equal(queue({}), true);
  assert.equal(queue({ utilization: FULL.map((u) => 0.8 * u) }), false);
  assert.equal(queue({ waitMs: [3, 3, 3, 3, 3, 3] }), false);
});

test('rule 6: waits that grow no more are those of a full queue where they last a hold and no server is ever free', () => {
  assert.equal(queue({ waitMs: HOLD_MS }), true);
  assert.equal(queue({ waitMs: HOLD_MS, utilization: FULL.map((u) => Math.min(0.94, u)) }), false);
});

test('rule 6: a rebuilt lock whose waiters hardly wait is held on several rows, not full', () => {
  assert.equal(queue({ rebuilt: true }), false);
  assert.equal(queue({ rebuilt: true, waitMs: [1, 1, 2, 5, 20, 60] }), true);
});

test('rule 6: slots counted where most were in use are full only when who comes waits for the next one', () => {
  const slots: Partial<Sketch> = { kind: 'admission', name: 'http.server', capacity: 5, rebuilt: true };
  assert.equal(queue({ ...slots, waitMs: [0.1, 0.1, 0.2, 0.3, 0.5, 1] }), false);
  assert.equal(queue({ ...slots, waitMs: [0.1, 0.1, 0.2, 0.5, 2, 8] }), true);
});
