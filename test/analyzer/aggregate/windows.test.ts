import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addClipped, windowAt } from '../../../analyzer/src/aggregate/intervals.ts';
import { topWindows } from '../../../analyzer/src/aggregate/queue-model.ts';
import { rateSegments } from '../../../analyzer/src/aggregate/rate-segments.ts';
import { SliceList, unionOf } from '../../../analyzer/src/aggregate/slice-list.ts';
import { analyze } from '../../../analyzer/src/infer/analysis.ts';
import { Export, nestedService, steps } from '../infer/service.ts';

function arrivals(...list: [perSecond: number, seconds: number][]): Float64Array {
  const { arrivalsMs } = steps(list.map(([perSecond, seconds]) => ({ perSecond, seconds })));
  return Float64Array.from(arrivalsMs, (ms) => ms * 1e6);
}
const ones = (n: number) => new Float64Array(n).fill(1);

test('rule 1: an even rate is one window', () => {
  const starts = arrivals([50, 20]);
  assert.equal(rateSegments(starts, ones(starts.length), 0).length, 1);
});

test('rule 1: a step of the rate is found where it is', () => {
  const starts = arrivals([20, 10], [60, 10]);
  const segments = rateSegments(starts, ones(starts.length), 0);
  assert.equal(segments.length, 2);
  assert.ok(Math.abs(segments[0].endNs / 1e9 - 10) < 0.5, `${segments[0].endNs}`);
});

test('rule 1: paced arrivals show a smaller step than random ones would', () => {
  const paced = (...list: [perSecond: number, seconds: number][]) => {
    const starts: number[] = [];
    let fromNs = 0;
    for (const [perSecond, seconds] of list) {
      for (let i = 0; i < perSecond * seconds; i++) starts.push(fromNs + (i / perSecond) * 1e9);
      fromNs += seconds * 1e9;
    }
    return Float64Array.from(starts);
  };
  const starts = paced([60, 4], [85, 4]);
  const segments = rateSegments(starts, ones(starts.length), 0);
  assert.equal(segments.length, 2);
  assert.ok(Math.abs(segments[0].endNs / 1e9 - 4) < 0.3, `${segments[0].endNs}`);
  assert.equal(rateSegments(paced([60, 20]), ones(1200), 0).length, 1);
});

test('rule 1: a ramp too short to find its steps is cut into pieces of about even rates', () => {
  let state = 7;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  // 20/s to 60/s within 7.5 s, at random: where the integral of the rate reaches a sum of exponential steps.
  const step = () => -Math.log(1 - random());
  const list: number[] = [];
  for (let sum = step(); sum < 300; sum += step()) list.push(1.25e8 * (Math.sqrt(900 + 24 * sum) - 30));
  const starts = Float64Array.from(list);
  const rates = rateSegments(starts, ones(starts.length), 0).map(({ startNs, endNs }) => {
    const n = starts.filter((ns) => ns >= startNs && ns < endNs).length;
    return (n * 1e9) / (endNs - startNs);
  });
  assert.equal(rates.length, 3);
  assert.ok(rates[0] < 36 && rates[1] > 40 && rates[1] < 50 && rates[2] > 53, `${rates}`);
});

test('rule 1: of one rate, a window in which a backlog grows is looked at in pieces; a calm one is not', () => {
  const list = [
    { perSecond: 30, seconds: 8 },
    { perSecond: 90, seconds: 8 },
  ];
  const calm = { beforeMs: 2, lockedMs: 4, poolSize: 5, slots: 50 };
  assert.equal(analyze(nestedService(list, calm, false)).windows.length, 2);
  const { windows } = analyze(nestedService(list, { ...calm, lockedMs: 14 }, false));
  assert.ok(windows.length > 4, `${windows.length}`);
  assert.ok(Math.abs(windows[1].receivedPerSecond - 90) < 9, `${windows[1].receivedPerSecond}`);
});

test('rule 1: random arrivals of one rate are one window', () => {
  let state = 7;
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  for (let round = 0; round < 40; round++) {
    let atNs = 0;
    const starts = Float64Array.from({ length: 300 + 40 * round }, () => {
      atNs -= Math.log(1 - random()) * 1e7;
      return atNs;
    });
    assert.equal(rateSegments(starts, ones(starts.length), 0).length, 1, `round ${round}`);
  }
});

test('rule 1: nothing and one request', () => {
  assert.deepEqual(rateSegments(new Float64Array(0), ones(0), 0), []);
  const [one] = rateSegments(Float64Array.of(5), ones(1), 5);
  assert.ok(one.endNs > one.startNs);
});

test('rule 1: arrivals at one instant last until the last of them is over', () => {
  assert.deepEqual(rateSegments(Float64Array.of(0, 0, 0), ones(3), 2e9), [{ startNs: 0, endNs: 2e9 + 1 }]);
});

test('a time integral is clipped to the windows', () => {
  const windows = [
    { startNs: 0, endNs: 10 },
    { startNs: 10, endNs: 20 },
    { startNs: 30, endNs: 40 },
  ];
  const sums = new Float64Array(3);
  addClipped(windows, 5, 35, 2, sums);
  assert.deepEqual([...sums], [10, 20, 10]);
  assert.equal(windowAt(windows, 10), 1);
  assert.equal(windowAt(windows, 25), -1);
  assert.equal(windowAt(windows, 40), -1);
});

test('a union counts overlapping time once', () => {
  const work = new SliceList();
  const pauses = new SliceList();
  const slice = (startNs: number, endNs: number, instance = 0) => ({
    queue: 3,
    instance,
    request: 0,
    startNs,
    endNs,
  });
  for (const one of [slice(5, 8), slice(9, 9), slice(30, 40, 1), { ...slice(50, 60), queue: 2 }])
    work.push(one);
  for (const one of [slice(0, 6), slice(20, 21)]) pauses.push(one);
  assert.deepEqual(unionOf([work, pauses], 3, 0), [
    { startNs: 0, endNs: 8 },
    { startNs: 20, endNs: 21 },
  ]);
});

const SERVICE = { beforeMs: 2, lockedMs: 12, poolSize: 5, slots: 50 };

test('accounting: start + entered - left = end in every window, and an overloaded one is unstable', () => {
  const { windows } = analyze(
    nestedService(
      [
        { perSecond: 30, seconds: 4 },
        { perSecond: 120, seconds: 4 },
        { perSecond: 20, seconds: 12 },
      ],
      SERVICE,
    ),
  );
  for (const { accounting } of windows) {
    assert.equal(accounting.inFlightStart + accounting.entered - accounting.left, accounting.inFlightEnd);
  }
  assert.deepEqual(
    windows.map((row) => row.stable),
    [true, false, true],
  );
  assert.equal(windows[1].plannedPerSecond, 120);
  assert.ok(windows[1].completedPerSecond < 90);
});

test('rule 1: windows after the top count only when they begin without inherited backlog', () => {
  const { frame } = analyze(
    nestedService(
      [
        { perSecond: 30, seconds: 4 },
        { perSecond: 120, seconds: 4 },
        { perSecond: 40, seconds: 4 },
        { perSecond: 10, seconds: 20 },
        { perSecond: 20, seconds: 4 },
      ],
      SERVICE,
    ),
  );
  // The third window still drains the second; the backlog is gone before the fourth.
  assert.deepEqual([...frame.rising], [3, 4, 0, 1]);
});

test('a plan that does not overlap the traces is not used: the windows come from the arrivals', () => {
  const { plan } = steps([{ perSecond: 30, seconds: 4 }]);
  const out = new Export();
  for (let i = 0; i < 200; i++) out.request(1e6 + i * 20, 1e6 + i * 20 + 5);
  const { windows, plan: used, notes } = analyze(out.plan(plan).input());
  assert.equal(used, null);
  assert.match(notes[0].text, /does not overlap the traces/);
  assert.equal(windows[0].plannedPerSecond, null);
});

test('rule 1: a low step after an overload says nothing of low load while its backlog drains', () => {
  const spikes = [20, 250, 20, 250, 20, 255].map((perSecond) => ({ perSecond, seconds: 5 }));
  const shape = { beforeMs: 2, lockedMs: 10, poolSize: 8, slots: 200 };
  const { frame, verdict } = analyze(nestedService(spikes, shape));
  assert.deepEqual(frame.rising, [0, 1, 3, 5]);
  assert.equal(verdict.first?.resource, 'lock:campaign');
  // It was met at the first 20/s; that the second inherits requests of 250/s breaks no promise about 20/s.
  assert.equal(verdict.capacity.objectivePerSecond, 250);
  const fallFirst = [250, 30, 60, 255].map((perSecond) => ({ perSecond, seconds: 5 }));
  assert.equal(analyze(nestedService(fallFirst, shape)).verdict.status, 'not-enough-load-variation');
});

test('rule 3: of two or three steps the overload is not taken for low load, nor the lowest for the top', () => {
  const shape = { beforeMs: 2, lockedMs: 10, poolSize: 8, slots: 200 };
  const parts = (rates: number[]) => {
    const { frame } = analyze(
      nestedService(
        rates.map((perSecond) => ({ perSecond, seconds: 3 })),
        shape,
      ),
    );
    return { lows: frame.lows, tops: topWindows(frame.rising) };
  };
  assert.deepEqual(parts([50, 140]), { lows: [0], tops: [1] });
  assert.deepEqual(parts([40, 90, 150]), { lows: [0, 1], tops: [1, 2] });
  assert.deepEqual(parts([40, 110, 150]), { lows: [0], tops: [1, 2] });
  assert.deepEqual(parts([40, 60, 80, 100, 120]), { lows: [0, 1], tops: [2, 3, 4] });
});
