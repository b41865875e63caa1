import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frame, QueueModel } from '../../../analyzer/src/aggregate/queue-model.ts';
import { PLATEAU_HOW } from '../../../analyzer/src/aggregate/server-rate.ts';
import { withoutRatesOfTheLoop } from '../../../analyzer/src/infer/slowed-by-loop.ts';

const MS = 1e6;
const rates = [15, 25, 35, 66, 101];
const timeline = {
  windows: rates.map((arrivalsPerSecond) => ({
    arrivalsPerSecond,
    requests: 10 * arrivalsPerSecond,
    seconds: 10,
  })),
};
const frame = {
  timeline,
  rising: [0, 1, 2, 3, 4],
  lows: [0, 1],
  pre: [0, 1, 2],
  topRate: 101,
} as unknown as Frame;

function server(how: string, service = 'shop'): QueueModel {
  return {
    kind: 'downstream',
    name: 'db:5432',
    queue: { service },
    how,
    saturatesAt: 51,
    meanWaitNs: [0, 0, 0, 30 * MS, 18 * MS],
    series: { baseNs: 1.8 * MS },
    utilization: [null, null, null, null, null],
  } as unknown as QueueModel;
}

function loop(utilization: number[]): QueueModel {
  return {
    kind: 'eventloop',
    name: 'eventloop',
    queue: { service: 'shop' },
    saturatesAt: 60,
    topWaitNs: 40 * MS,
    lowWaitNs: 1 * MS,
    series: { arrivals: rates.map((rate) => 10 * rate) },
    utilization,
  } as unknown as QueueModel;
}

test('behind a full event loop, completions that stay while calls slow down say nothing of the server', () => {
  const full = loop([0.2, 0.4, 0.6, 0.98, 1]);
  const models = withoutRatesOfTheLoop([server(PLATEAU_HOW), full], frame);
  assert.deepEqual(
    models.map(({ name, saturatesAt }) => [name, saturatesAt]),
    [
      ['eventloop', 60],
      ['db:5432', null],
    ],
  );
});

test('a server keeps its rate where the loop slept, is another service’s, or the rate was counted otherwise', () => {
  for (const [what, given, busy] of [
    ['slept', server(PLATEAU_HOW), [0.2, 0.4, 0.6, 0.8, 1]],
    ['of another service', server(PLATEAU_HOW, 'stock'), [0.2, 0.4, 0.6, 0.98, 1]],
    ['counted servers', server('about 2 servers'), [0.2, 0.4, 0.6, 0.98, 1]],
  ] as const) {
    const [first] = withoutRatesOfTheLoop([given, loop([...busy])], frame);
    assert.equal(first.saturatesAt, 51, what);
  }
});
