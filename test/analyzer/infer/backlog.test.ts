import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Requests } from '../../../analyzer/src/aggregate/requests-types.ts';
import { holdsBacklog, ratedByPlateau } from '../../../analyzer/src/infer/backlog.ts';
import { frame, MS, model, RATES } from './sketch.ts';

/** One request a window; mean latencies as given. */
function requests(latencyMs: readonly number[]): Requests {
  return {
    count: latencyMs.length,
    window: Int32Array.from(latencyMs, (_, w) => w),
    durationNs: Float64Array.from(latencyMs, (ms) => ms * MS),
    weight: new Float64Array(latencyMs.length).fill(1),
  } as unknown as Requests;
}

const SLOWER = [0, 0, 5, 10, 20, 30];
const server = model({ index: 0, name: 'risk', kind: 'downstream', saturatesAt: 90, waitMs: SLOWER });
const backlog = (latencyMs: readonly number[], others = [server]) =>
  holdsBacklog(server, others, frame(), requests(latencyMs));

test('calls that are most of what requests take longer are the backlog', () => {
  assert.equal(backlog([20, 20, 25, 30, 45, 60]), true);
});

test('calls that are a little slower while requests wait elsewhere are not', () => {
  assert.equal(backlog([20, 20, 25, 100, 500, 900]), false);
});

test('without a backlog nothing stands in front of anything', () => {
  assert.equal(backlog([60, 60, 62, 65, 75, 85]), false);
});

/** A pool around the calls, its holds longer by waits for the server (index 0) or for a row (index 2). */
function callers(nestedIn: number) {
  const pool = model({
    index: 1,
    name: 'agent',
    kind: 'pool',
    saturatesAt: 400,
    waitMs: RATES.map(() => 0),
    utilization: [0.1, 0.2, 0.5, 0.9, 1, 1],
    holdMs: [10, 10, 15, 20, 30, 40],
    nestedMs: { [nestedIn]: SLOWER },
  });
  return { ...pool, serviceNs: new Map([[0, 5 * MS]]) };
}

test('a full queue of callers that wait for the server holds its backlog', () => {
  assert.equal(backlog([20, 20, 25, 100, 500, 900], [server, callers(0)]), true);
});

test('a queue of callers that is full of waits for something else does not', () => {
  assert.equal(backlog([20, 20, 25, 100, 500, 900], [server, callers(2)]), false);
});

test('of two pools around the calls the inner one is asked, whichever has the lower rate', () => {
  const outer = { ...callers(2), queue: { ...callers(2).queue, index: 3 }, meanHoldNs: 60 * MS };
  const inner = { ...callers(0), meanHoldNs: 10 * MS };
  assert.equal(backlog([20, 20, 25, 100, 500, 900], [server, outer, inner]), true);
});

test('only a server or a gate without known servers is rated by its completions alone', () => {
  assert.equal(ratedByPlateau({ ...server, capacity: null }), true);
  assert.equal(ratedByPlateau(server), false);
  assert.equal(ratedByPlateau({ ...callers(0), capacity: null }), false);
});
