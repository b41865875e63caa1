import type { Latency, RequestGroup, SegmentRow, WindowRow } from '../../../analyzer/src/aggregate/types.ts';
import type { Report } from '../../../analyzer/src/report/types.ts';

const MS = 1_000_000;

function latency(n: number, p50: number, p99: number): Latency {
  const ns = (ms: number) => Math.round(ms * MS);
  return {
    n,
    p50: ns(p50),
    p90: ns(p50 * 1.5),
    p95: ns(p50 * 1.7),
    p99: ns(p99),
    p999: ns(p99),
    max: ns(p99 * 1.1),
    mean: ns(p50 * 1.1),
  };
}

function segment(
  row: Partial<SegmentRow> & Pick<SegmentRow, 'segment' | 'share'>,
  meanMs: number,
): SegmentRow {
  return {
    service: 'signup',
    resource: null,
    totalNs: BigInt(meanMs * 1000 * MS),
    meanNs: meanMs * MS,
    p50Ns: meanMs * MS,
    p99Ns: meanMs * 3 * MS,
    count: 900,
    ...row,
  };
}

const SEGMENTS = [
  segment({ segment: 'lock_wait', resource: 'lock:campaign', share: 0.5 }, 30),
  segment({ segment: 'pool_wait', resource: 'pg-pool:signup', share: 0.3 }, 18),
  segment({ segment: 'downstream', resource: 'db:5432', share: 0.15 }, 9),
  segment({ segment: 'unaccounted', share: 0.05 }, 3),
];

const GROUP: RequestGroup = {
  count: 1000,
  byOutcome: { success: 960, rejected: 30, timeout: 8, aborted: 1, error: 1 },
  latencyNs: latency(1000, 42, 310),
  goodLatencyNs: latency(960, 41, 290),
  parallelShare: 0.012,
  coverage: 0.95,
  segments: SEGMENTS,
  cohorts: [
    {
      name: 'median',
      count: 101,
      meanNs: 42 * MS,
      segments: [{ segment: 'lock_wait', resource: 'lock:campaign', meanNs: 42 * MS }],
    },
    {
      name: 'p99',
      count: 11,
      meanNs: 310 * MS,
      segments: [{ segment: 'lock_wait', resource: 'lock:campaign', meanNs: 310 * MS }],
    },
    {
      name: 'slowest1%',
      count: 10,
      meanNs: 330 * MS,
      segments: [{ segment: 'pool_wait', resource: 'pg-pool:signup', meanNs: 330 * MS }],
    },
  ],
};

function step(at: number, perSecond: number, more: Partial<WindowRow> = {}): WindowRow {
  const start = 1_760_000_000_000_000_000n + BigInt(at) * 1_000_000_000n;
  return {
    startUnixNano: start,
    endUnixNano: start + 10_000_000_000n,
    phase: 'ramp',
    plannedPerSecond: perSecond,
    receivedPerSecond: perSecond,
    startedPerSecond: perSecond,
    completedPerSecond: perSecond,
    goodputPerSecond: perSecond,
    byOutcome: { success: perSecond * 10, rejected: 0, timeout: 0, aborted: 0, error: 0 },
    latencyNs: latency(perSecond * 10, 20, 60),
    goodLatencyNs: latency(perSecond * 10, 20, 60),
    stable: true,
    segments: SEGMENTS.map((row) => ({ ...row, meanNs: Math.round(row.meanNs / 3) })),
    accounting: { inFlightStart: 0, entered: perSecond * 10, left: perSecond * 10, inFlightEnd: 0 },
    ...more,
  };
}

/** A report with every part filled in: what renderers are tested with. All numbers are invented. */
export function exampleReport(): Report {
  return {
    schemaVersion: 1,
    generatedBy: 'waitfall test',
    input: {
      files: [
        { path: 'run/traces-1.jsonl', format: 'OTLP JSON lines', bytes: 1_204_311, spans: 5200, rejected: 0 },
        {
          path: 'run/traces-2.jsonl.zst',
          format: 'OTLP JSON lines, zstd',
          bytes: 99_120,
          spans: 2204,
          rejected: 1,
        },
      ],
      spanRecords: 7404,
      spans: 7400,
      traces: 1002,
      requests: 1000,
      roots: 1000,
      orphanRoots: 2,
      cycles: 1,
      duplicates: 3,
      conflicts: 1,
      quarantined: 1,
      quarantinedSubtree: 2,
      invalidIds: 1,
      clamped: 12,
      adopted: 1,
      detached: 2,
      detachedNs: 4_000_000_000n,
      abandoned: 1,
      abandonedNs: 18_000_000n,
      skew: [{ from: 'web', to: 'signup', count: 4, medianOffsetNs: -20 * MS }],
      rejected: [{ file: 'run/traces-2.jsonl.zst', line: 17, reason: 'cut in the middle of a record' }],
      metrics: { metrics: 4, dataPoints: 80 },
      skipped: { logs: 2, profiles: 0 },
    },
    requests: GROUP,
    routes: [
      { route: 'POST /signup', ...GROUP, count: 900 },
      { route: 'GET /signup/:id', ...GROUP, count: 100, latencyNs: latency(100, 3, 9) },
    ],
    windows: [
      step(0, 80, { phase: 'warmup' }),
      step(10, 110),
      step(20, 140, {
        completedPerSecond: 131,
        goodputPerSecond: 128.4,
        byOutcome: { success: 1284, rejected: 60, timeout: 6, aborted: 0, error: 0 },
        latencyNs: latency(1400, 90, 410),
        stable: false,
        segments: SEGMENTS,
      }),
      step(30, 20, { phase: 'recovery', latencyNs: latency(200, 20, 61) }),
    ],
    resources: [
      {
        resource: 'lock:campaign',
        kind: 'lock',
        scope: 'shared',
        service: 'signup',
        instances: 1,
        hottestRatio: null,
        busiestKey: '9f2c',
        capacity: 1,
        capacityFrom: 'stated',
        visitsPerRequest: 0.62,
        ownDemandNs: 7 * MS,
        demandFlat: true,
        saturatesAtPerSecond: 142,
        pattern: 'wait grew, hold flat',
        windows: [80, 110, 140, 20].map((arrivalsPerSecond, i) => ({
          arrivalsPerSecond,
          utilization: [0.56, 0.77, 0.99, 0.14][i],
          pWait: [0.5, 0.7, 0.98, 0.1][i],
          meanWaitNs: [4, 9, 61, 0.5][i] * MS,
          p99WaitNs: [20, 40, 120, 3][i] * MS,
          meanHoldNs: 11.3 * MS,
          ownHoldNs: 11.3 * MS,
          meanQueueDepth: [0.4, 1.1, 8.8, 0][i],
          oldestAgeNs: null,
          rejected: 0,
          timedOut: 0,
        })),
        holdComposition: [
          { what: 'INSERT audit_log', share: 0.46, movable: true },
          { what: 'COMMIT', share: 0.14, movable: false },
        ],
      },
      {
        resource: 'pg-pool:signup',
        kind: 'pool',
        scope: 'process',
        service: 'signup',
        instances: 2,
        hottestRatio: 1.2,
        busiestKey: null,
        capacity: 20,
        capacityFrom: 'inferred',
        visitsPerRequest: 1,
        ownDemandNs: 24 * MS,
        demandFlat: null,
        saturatesAtPerSecond: 310,
        pattern: null,
        windows: [80, 110, 140, 20].map((arrivalsPerSecond) => ({
          arrivalsPerSecond,
          utilization: null,
          pWait: null,
          meanWaitNs: null,
          p99WaitNs: null,
          meanHoldNs: null,
          ownHoldNs: null,
          meanQueueDepth: null,
          oldestAgeNs: null,
          rejected: 0,
          timedOut: 0,
        })),
        holdComposition: [],
      },
    ],
    recovery: { drainNs: 3_200 * MS, residual: 0, predictedNs: 3_000 * MS },
    verdict: {
      status: 'saturated',
      first: { kind: 'lock', resource: 'lock:campaign', service: 'signup', instance: null },
      kneePerSecond: 137,
      capacity: { objectivePerSecond: 128, kneePerSecond: 137, firstRejectPerSecond: 140 },
      acceptable: ['lock:campaign'],
      chain: [
        { kind: 'lock', resource: 'lock:campaign', service: 'signup', holdGrowthNs: null, share: null },
        { kind: 'pool', resource: 'pg-pool:signup', service: 'signup', holdGrowthNs: 47 * MS, share: 0.93 },
      ],
      next: { kind: 'pool', resource: 'pg-pool:signup', service: 'signup', saturatesAtPerSecond: 310 },
      confidence: {
        level: 'high',
        reasons: ['the next queue saturates at 2.2 times that rate', '1,000 requests, not sampled'],
      },
      evidence: [
        {
          id: 'demand',
          text: 'own demand 7 ms a request = 0.62 visits × 11.3 ms, 1 server: 142/s alone',
          traces: [
            {
              traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
              spanId: '00f067aa0ba902b7',
              blocker: { traceId: '5c0a2f3577b34da6a3ce929d0e0e4736', spanId: '11f067aa0ba902b7' },
            },
          ],
        },
      ],
      ruledOut: [{ id: 'not-pool', text: 'pg-pool:signup: alone it would saturate at 310/s' }],
      findings: [{ id: 'timeouts', text: '6 % of the waits for http.server end in a timeout' }],
      whatIf: [
        {
          change: 'lock:campaign hold x0.54',
          kneePerSecond: { low: 205, high: 256 },
          next: { kind: 'pool', resource: 'pg-pool:signup', service: 'signup', saturatesAtPerSecond: 310 },
          text: '',
        },
      ],
    },
  };
}
