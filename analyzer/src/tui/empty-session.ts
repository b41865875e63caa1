import type { Latency, OutcomeCounts, RequestGroup } from '../aggregate/types.ts';
import { REQUEST_OUTCOMES } from '../classify/types.ts';
import type { Report } from '../report/types.ts';
import type { ReadingProgress, Session, TraceColumns } from './session.ts';

const NO_LATENCY: Latency = {
  n: 0,
  p50: null,
  p90: null,
  p95: null,
  p99: null,
  p999: null,
  max: null,
  mean: null,
};

const NO_REQUESTS: RequestGroup = {
  count: 0,
  byOutcome: Object.fromEntries(REQUEST_OUTCOMES.map((name) => [name, 0])) as OutcomeCounts,
  latencyNs: NO_LATENCY,
  goodLatencyNs: NO_LATENCY,
  parallelShare: null,
  coverage: null,
  segments: [],
  cohorts: [],
};

/** What stands in the report until it is known; no screen shows it before. */
const NO_REPORT: Report = {
  schemaVersion: 1,
  generatedBy: 'waitfall',
  input: {
    files: [],
    spanRecords: 0,
    spans: 0,
    traces: 0,
    requests: 0,
    roots: 0,
    orphanRoots: 0,
    cycles: 0,
    duplicates: 0,
    conflicts: 0,
    quarantined: 0,
    quarantinedSubtree: 0,
    invalidIds: 0,
    clamped: 0,
    adopted: 0,
    detached: 0,
    detachedNs: 0n,
    abandoned: 0,
    abandonedNs: 0n,
    skew: [],
    rejected: [],
    metrics: { metrics: 0, dataPoints: 0 },
    skipped: { logs: 0, profiles: 0 },
  },
  requests: NO_REQUESTS,
  routes: [],
  windows: [],
  resources: [],
  recovery: null,
  verdict: {
    status: 'not-enough-data',
    first: null,
    kneePerSecond: null,
    capacity: { objectivePerSecond: null, kneePerSecond: null, firstRejectPerSecond: null },
    acceptable: [],
    chain: [],
    next: null,
    confidence: { level: 'low', reasons: [] },
    evidence: [],
    ruledOut: [],
    findings: [],
    whatIf: [],
  },
};

const NO_TRACES: TraceColumns = {
  count: 0,
  traceIds: [],
  routes: [],
  route: new Int32Array(),
  services: [],
  service: new Int32Array(),
  startNs: new Float64Array(),
  originUnixNano: 0n,
  durationNs: new Float64Array(),
  outcomes: REQUEST_OUTCOMES,
  outcome: new Uint8Array(),
  kinds: [],
  kind: new Uint8Array(),
  segmentNs: [],
  cohort: new Uint8Array(),
};

/** @returns the session before anything is read: its questions are answered once the analysis is there. */
export function emptySession(
  title: string,
  answers: Pick<Session, 'trace' | 'span' | 'waits' | 'whatIf' | 'step' | 'split'>,
): Session {
  const progress: ReadingProgress = { phase: 'reading', bytes: 0, totalBytes: null, spans: 0 };
  return { title, stage: 'reading', progress, report: NO_REPORT, traces: NO_TRACES, ...answers };
}
