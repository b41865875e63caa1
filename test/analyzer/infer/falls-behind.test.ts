import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyze, buildReport } from '../../../analyzer/src/index.ts';
import { EPOCH_NS, Export } from './service.ts';

const WINDOW_MS = 10_000;
const RATES = [10, 20, 40];
const SERVED_PER_SECOND = 15;

/** A service that does one thing after the other, which no span tells; or any number of things at once. */
function reportOf(oneAtATime: boolean) {
  const run = new Export();
  let freeMs = 0;
  for (const [window, rate] of RATES.entries()) {
    for (let i = 0; i < (rate * WINDOW_MS) / 1e3; i++) {
      const startMs = window * WINDOW_MS + (i * 1e3) / rate;
      const beginMs = oneAtATime ? Math.max(startMs, freeMs) : startMs;
      freeMs = beginMs + 1e3 / SERVED_PER_SECOND;
      const request = run.request(startMs, freeMs);
      request.wait('pool_wait', 'pg-pool:a', startMs, startMs, { capacity: 10, heldMs: 5 });
    }
  }
  const at = (ms: number) => String(EPOCH_NS + BigInt(ms * 1e6));
  run.plan({
    steps: RATES.map((arrivalsPerSecond, window) => ({
      startUnixNano: at(window * WINDOW_MS),
      endUnixNano: at((window + 1) * WINDOW_MS),
      arrivalsPerSecond,
    })),
  });
  return buildReport(analyze(run.input())).verdict;
}

test('a service that falls behind is not said to be unsaturated because no queue in the input is full', () => {
  const { status, first, confidence, evidence } = reportOf(true);
  assert.equal(status, 'not-enough-data');
  assert.equal(first, null);
  assert.equal(confidence.level, 'low');
  assert.match(evidence[0].text, /^from 20\/s on the service falls behind/);
});

test('one that keeps up is', () => {
  assert.equal(reportOf(false).status, 'not-saturated');
});
