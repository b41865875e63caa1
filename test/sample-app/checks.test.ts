import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Check,
  checkRuns,
  disturbances,
  disturbed,
  hotShare,
  type JudgedRun,
} from '../../sample-app/src/case-study/checks.ts';
import { measureKnee } from '../../sample-app/src/case-study/knee.ts';
import { changeOf } from '../../sample-app/src/case-study/predictions.ts';
import { measureRecovery } from '../../sample-app/src/case-study/recovery.ts';
import { measureRulesSpeed, rulesKiBFor } from '../../sample-app/src/case-study/rules-size.ts';
import type { Phase } from '../../sample-app/src/load/manifest.ts';
import type { StepResult } from '../../sample-app/src/load/step-recorder.ts';
import type { ReportFile } from '../../sample-app/src/run/report-file.ts';
import type { VariantName } from '../../sample-app/src/service/variants.ts';

const empty = {
  n: 0,
  atLeast: 0,
  p50: null,
  p90: null,
  p99: null,
  p999: null,
  max: null,
  mean: null,
  histogram: '',
};

function step(phase: Phase, rate: number, goodput: number, more: Partial<StepResult> = {}): StepResult {
  return {
    startUnixNano: '0',
    endUnixNano: '0',
    arrivalsPerSecond: rate,
    phase,
    goodputPerSecond: goodput,
    rejectedLatencyNs: empty,
    cpu: { app: 0.4, db: 0.1, others: 0 },
    disturbed: false,
    repeated: false,
    ...more,
  } as StepResult;
}

const manifest = {
  requests: [
    { name: 'hot', share: 6, method: 'POST', path: '/signup', body: { campaign: 1 } },
    { name: 'other', share: 1, method: 'POST', path: '/signup', body: { campaign: 2 } },
    { name: 'result', share: 3, method: 'GET', path: '/' },
  ],
};

function report(kind: string, resource: string, chain: string[], holdMs = 30): ReportFile {
  return {
    resources: [
      {
        resource: 'lock:campaign',
        holdComposition: [
          { what: 'pg.query:audit', share: 0.8 },
          { what: 'pg.query:COMMIT', share: 0.2 },
        ],
        windows: [{ meanHoldNs: holdMs * 1e6 }, { meanHoldNs: null }],
      },
    ],
    verdict: { status: 'saturated', first: { kind, resource }, chain: chain.map((link) => ({ kind: link })) },
  } as unknown as ReportFile;
}

function judged(variant: VariantName, steps: StepResult[], answer: ReportFile | null): JudgedRun {
  return {
    run: { variant, load: { manifest, steps }, samples: [], speed: { sized: 1, before: 1, after: 1 } },
    report: answer,
  } as unknown as JudgedRun;
}

const outcomes = (checks: Check[]) => checks.map(({ holds, detail }) => [holds, detail]);
const saturatedAt = (rate: number) => [
  step('ramp', 30, 30),
  step('ramp', 2 * rate, rate),
  step('overload', 4 * rate, rate),
];
const before = judged(
  'before',
  saturatedAt(54),
  report('lock', 'lock:campaign', ['lock', 'pool', 'admission']),
);

test('the knee is the mean goodput of the steps that got less than was offered', () => {
  const steps = [
    step('warmup', 30, 10),
    step('ramp', 50, 49),
    step('ramp', 80, 56),
    step('overload', 120, 52),
  ];
  assert.deepEqual(measureKnee(steps), { perSecond: 54, topPerSecond: 56, step: steps[2] });
  assert.deepEqual(measureKnee(steps.slice(0, 2)), { perSecond: null, topPerSecond: 49, step: null });
});

test('before: lock first, chain, CPU at the knee, knee from share and hold', () => {
  assert.equal(hotShare(manifest as never), 0.6);
  assert.deepEqual(outcomes(checkRuns([before], new Map())), [
    [true, 'lock:campaign (lock)'],
    [true, 'chain: lock -> pool -> admission'],
    [true, 'service 40 %, database 10 % at 108/s'],
    [true, '54.0/s measured, 55.6/s from 0.60 x 30.0 ms'],
  ]);
});

test('before: another queue, another chain, busy CPUs and another knee do not pass', () => {
  const busy = saturatedAt(54).map((one) => ({ ...one, cpu: { app: 0.7, db: 0.1, others: 0 } }));
  const wrong = judged('before', busy, report('pool', 'pg-pool:signup', ['pool'], 60));
  assert.deepEqual(
    checkRuns([wrong], new Map()).map(({ holds }) => holds),
    [false, false, false, false],
  );
});

test('a fix that must fail fails, one that must work works; without "before" nobody can tell', () => {
  const pool = judged('bigger-pool', saturatedAt(57), report('lock', 'lock:campaign', []));
  const after = judged('after', saturatedAt(100), report('eventloop', 'eventloop', []));
  const claims = (runs: JudgedRun[]) =>
    checkRuns(runs, new Map()).filter(({ variant }) => variant !== 'before');
  assert.deepEqual(outcomes(claims([before, pool, after])), [
    [true, '54.0/s -> 57.0/s, x1.06'],
    [true, 'lock:campaign (lock)'],
    [true, '54.0/s -> 100.0/s, x1.85'],
    [true, 'eventloop (eventloop)'],
  ]);
  const swapped = [judged('bigger-pool', saturatedAt(100), null), judged('after', saturatedAt(57), null)];
  assert.deepEqual(
    claims([before, ...swapped]).map(({ holds }) => holds),
    [false, null, false, null],
  );
  assert.deepEqual(
    claims([after]).map(({ holds }) => holds),
    [null, true],
  );
});

test('a predicted fix must end inside the range; a run without a knee only above its lower end', () => {
  const predictions = new Map([
    ['split-row', { change: 'lock:campaign visits x0.125', kneePerSecond: { low: 90, high: 130 } }],
  ] as const);
  const holds = (steps: StepResult[]) => checkRuns([judged('split-row', steps, null)], predictions)[0]!.holds;
  assert.equal(holds(saturatedAt(100)), true);
  assert.equal(holds(saturatedAt(140)), false);
  assert.equal(holds(saturatedAt(80)), false);
  assert.equal(holds([step('ramp', 200, 199)]), true);
  assert.equal(holds([step('ramp', 80, 80)]), false);
});

test('what a fix changes of the lock is read from the before report', () => {
  assert.equal(changeOf('split-row', before.report!), 'lock:campaign visits x0.125');
  assert.equal(changeOf('update-last', before.report!), 'lock:campaign hold x0.20');
  assert.equal(changeOf('bigger-pool', before.report!), null);
});

test('recovery: from the fall of the load to the first look at empty queues, beside backlog / spare capacity', () => {
  const sample = (seconds: number, active: number, waiting: number, pool: number) => ({
    timeUnixNano: String(BigInt(seconds * 1e9)),
    service: { active, waiting, pool: { waiting: pool } },
  });
  const steps = [step('overload', 120, 54), step('recovery', 30, 50, { startUnixNano: String(10e9) })];
  const samples = [
    sample(9, 64, 128, 54),
    sample(10.5, 64, 104, 54),
    sample(14, 20, 0, 10),
    sample(17, 3, 0, 0),
  ];
  assert.deepEqual(measureRecovery(steps, samples as never, 54), { drainSeconds: 7, predictedSeconds: 7 });
  assert.equal(measureRecovery(steps, samples as never, null), null);
});

test('a rejection must not wait, whatever the service is busy with', () => {
  const rejecting = (p99Ms: number) => {
    const overload = step('overload', 200, 50, {
      rejectedLatencyNs: { ...empty, p99: p99Ms * 1e6 },
      cpu: { app: 1, db: 0.1, others: 0 },
    });
    const checks = checkRuns([judged('real-rtt', [overload], null)], new Map());
    return outcomes(checks.filter(({ claim }) => claim === 'rejects at once'))[0];
  };
  assert.deepEqual(rejecting(40), [true, 'p99 of a rejection at most 40 ms']);
  assert.deepEqual(rejecting(400), [false, 'p99 of a rejection at most 400 ms']);
});

test('a machine that became slower than it was when the rules were sized disturbs the run', () => {
  const run = (beforeRun: number, afterRun: number) =>
    ({
      load: { steps: saturatedAt(54) },
      speed: { sized: 200e6, before: beforeRun, after: afterRun },
    }) as never;
  assert.equal(disturbed(run(190e6, 210e6)), false);
  assert.equal(disturbed(run(400e6, 300e6)), false);
  for (const slow of [run(120e6, 200e6), run(200e6, 120e6)]) {
    assert.equal(disturbed(slow), true);
    assert.match(disturbances(slow).join(), /parsed 200 MB\/s of rules when they were sized/);
  }
});

test('rules are sized to the time that one parse takes, not to the machine', () => {
  assert.equal(rulesKiBFor(100 * 1024 * 1000), 350);
  assert.equal(rulesKiBFor(400 * 1024 * 1000), 1400);
  const speed = measureRulesSpeed();
  assert.ok(speed > 1e6 && Number.isFinite(speed));
});
