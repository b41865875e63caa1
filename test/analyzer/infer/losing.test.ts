import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import type { Input } from '../../../analyzer/src/model/input.ts';
import { buildReport } from '../../../analyzer/src/report/build.ts';
import { EPOCH_NS, Export, type WaitOptions } from './service.ts';

/** Numbers that look random and are the same in every run (Lehmer). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}

const SLOTS = 5;
const HOLD_MS = 40;
/** What the slots can serve a second. */
const CAPACITY = (SLOTS * 1000) / HOLD_MS;

/** Random arrivals at slots that nobody may wait for; how many were refused. `stated`: what the waits say of the slots. */
function slots(stated: (busy: number) => WaitOptions): { input: Input; refused: number } {
  const random = randomNumbers(7);
  const out = new Export();
  const stepMs = 8000;
  const rates = [0.3, 0.5, 0.7, 0.9, 1.1, 1.3].map((share) => share * CAPACITY);
  const busyUntil = new Array<number>(SLOTS).fill(0);
  let refused = 0;
  let at = 0;
  for (const [i, rate] of rates.entries()) {
    for (
      at = Math.max(at, i * stepMs);
      at < (i + 1) * stepMs;
      at += (-Math.log(1 - random()) * 1000) / rate
    ) {
      const slot = busyUntil.findIndex((until) => until <= at);
      if (slot < 0) {
        refused++;
        out
          .request(at, at + 0.2, { status: 503, failed: true })
          .wait('admission_wait', 'http.server', at, at, { ...stated(SLOTS), outcome: 'rejected' });
        continue;
      }
      const busy = busyUntil.filter((until) => until > at).length;
      busyUntil[slot] = at + HOLD_MS;
      out
        .request(at, at + HOLD_MS)
        .wait('admission_wait', 'http.server', at, at, { ...stated(busy), heldMs: HOLD_MS });
    }
  }
  const input = out
    .plan({
      steps: rates.map((arrivalsPerSecond, i) => ({
        startUnixNano: `${EPOCH_NS + BigInt(i * stepMs) * 1_000_000n}`,
        endUnixNano: `${EPOCH_NS + BigInt((i + 1) * stepMs) * 1_000_000n}`,
        arrivalsPerSecond,
      })),
    })
    .input();
  return { input, refused };
}

test('slots that turn requests away saturate at slots / hold, however many they turn away', () => {
  const { input, refused } = slots(() => ({ capacity: SLOTS }));
  assert.ok(refused > 500, `${refused} refused`);
  const { verdict, resources } = buildReport(analyze(input, {}), {});
  assert.equal(verdict.status, 'saturated');
  assert.equal(verdict.first?.resource, 'http.server');
  const alone = resources.find(({ resource }) => resource === 'http.server')!.saturatesAtPerSecond!;
  assert.ok(Math.abs(alone / CAPACITY - 1) < 0.03, `${alone}/s, not ${CAPACITY}/s`);
  // Random arrivals never keep them all busy: what is served at most is less.
  const served = Math.max(...windowsOf(input));
  assert.ok(
    verdict.kneePerSecond! <= served && verdict.kneePerSecond! > 0.93 * served,
    `${verdict.kneePerSecond} of ${served}`,
  );
});

function windowsOf(input: Parameters<typeof analyze>[0]): number[] {
  return buildReport(analyze(input, {}), {}).windows.map((window) => window.goodputPerSecond);
}

test('servers are counted by who was turned away, too: all were busy then', () => {
  const { models, verdict } = analyze(slots((busy) => ({ inUse: busy, depth: 0 })).input);
  const server = models.find(({ name }) => name === 'http.server')!;
  assert.deepEqual([server.capacity, server.capacityFrom], [SLOTS, 'inferred']);
  assert.equal(verdict.first?.resource, 'http.server');
});

test('a queue of unknown size that turns requests away is not said to be unsaturated', () => {
  const { verdict } = analyze(slots(() => ({})).input);
  assert.equal(verdict.status, 'not-enough-data');
  assert.match(verdict.evidence[0].text, /^http.server turns away up to \d+/);
});
