import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Activity } from '../../../analyzer/src/aggregate/activity.ts';
import { inferCapacity } from '../../../analyzer/src/aggregate/official/pool-capacity.ts';
import type { Requests } from '../../../analyzer/src/aggregate/requests-types.ts';

const HOLD_NS = 40e6;
const SERVERS = 5;
const REQUESTS = 20_000;

/** Five connections that change hands at once whenever a hold ends; of `keptOf` requests one is in the export. */
function inferred(keptOf: number): number {
  const holds = [];
  const waits = [];
  // Kept at random, as a sampler does; the same in every run (Lehmer).
  let state = 7;
  for (let i = 0; i < REQUESTS; i++) {
    state = (state * 48271) % 2147483647;
    if (state % keptOf !== 0) continue;
    const startNs = Math.floor(i / SERVERS) * HOLD_NS + (i % SERVERS) * (HOLD_NS / SERVERS);
    const at = { queue: 0, instance: 0, request: i };
    holds.push({ ...at, startNs, endNs: startNs + HOLD_NS });
    waits.push({ ...at, startNs: startNs - 10e6, endNs: startNs });
  }
  const own = { instances: ['a'], statedCapacity: [null], queuedInUse: [0], maxInUse: [0] };
  const weight = new Float64Array(REQUESTS).fill(keptOf);
  inferCapacity({ queues: [own], holds, waits } as unknown as Activity, { weight } as unknown as Requests, 0);
  return own.queuedInUse[0];
}

test('the capacity is what was held while others waited', () => {
  assert.equal(inferred(1), SERVERS);
});

test('of a sampled export, by the weights of those who are there', () => {
  assert.equal(inferred(4), SERVERS);
  assert.equal(inferred(10), SERVERS);
});
