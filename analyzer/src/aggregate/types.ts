import type { RequestOutcome, ResourceKind, SegmentName } from '../classify/types.ts';

/** Percentiles by nearest rank, ns; null where n is 0. Exact integers. */
export interface Latency {
  readonly n: number;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  readonly p999: number | null;
  readonly max: number | null;
  readonly mean: number | null;
}

export type OutcomeCounts = Readonly<Record<RequestOutcome, number>>;

/** Time owned by one (service, segment, resource) over a set of requests. */
export interface SegmentRow {
  readonly service: string;
  readonly segment: SegmentName;
  readonly resource: string | null;
  /** Exact beyond 2^53. */
  readonly totalNs: bigint;
  /** Of the root time of the same requests, 0..1. */
  readonly share: number;
  /** Per request of the set, ns. */
  readonly meanNs: number;
  readonly p50Ns: number;
  readonly p99Ns: number;
  /** Requests in which it owned time. */
  readonly count: number;
}

/** Mean decomposition of a group of requests; means of parts add up to the mean of the whole. */
export interface Cohort {
  readonly name: 'median' | 'p99' | 'slowest1%';
  readonly count: number;
  readonly meanNs: number;
  readonly segments: readonly {
    readonly segment: SegmentName;
    readonly resource: string | null;
    readonly meanNs: number;
  }[];
}

export interface RequestGroup {
  readonly count: number;
  readonly byOutcome: OutcomeCounts;
  readonly latencyNs: Latency;
  /** Of successful requests only. */
  readonly goodLatencyNs: Latency;
  /** Share of root time in which two or more gating children of one span were active; null without root time. */
  readonly parallelShare: number | null;
  /** 1 - share of `unaccounted`; null without root time. */
  readonly coverage: number | null;
  readonly segments: readonly SegmentRow[];
  readonly cohorts: readonly Cohort[];
}

export interface RouteGroup extends RequestGroup {
  readonly route: string;
}

export interface WindowRow {
  readonly startUnixNano: bigint;
  readonly endUnixNano: bigint;
  readonly phase: string | null;
  readonly plannedPerSecond: number | null;
  readonly receivedPerSecond: number;
  readonly startedPerSecond: number | null;
  readonly completedPerSecond: number;
  readonly goodputPerSecond: number;
  readonly byOutcome: OutcomeCounts;
  readonly latencyNs: Latency;
  readonly goodLatencyNs: Latency;
  /** False where the backlog grows: percentiles there depend on how long the window lasted. null: unknown. */
  readonly stable: boolean | null;
  readonly segments: readonly SegmentRow[];
  readonly accounting: {
    readonly inFlightStart: number;
    readonly entered: number;
    readonly left: number;
    readonly inFlightEnd: number;
  };
}

/** A resource in one window; null = unknown. */
export interface ResourceWindow {
  readonly arrivalsPerSecond: number;
  readonly utilization: number | null;
  readonly pWait: number | null;
  readonly meanWaitNs: number | null;
  readonly p99WaitNs: number | null;
  readonly meanHoldNs: number | null;
  readonly ownHoldNs: number | null;
  readonly meanQueueDepth: number | null;
  readonly oldestAgeNs: number | null;
  readonly rejected: number;
  readonly timedOut: number;
}

export interface ResourceRow {
  /** Bare name; a lock with a key is `lock:campaign` with the key in `key`. */
  readonly resource: string;
  readonly kind: ResourceKind;
  readonly scope: 'process' | 'shared';
  readonly service: string;
  readonly instances: number;
  /** Demand of the hottest instance / mean of the instances; null with one instance. */
  readonly hottestRatio: number | null;
  /** Row locks: key of the busiest row, whose numbers these are; null elsewhere or where no key is stated. */
  readonly busiestKey: string | null;
  readonly capacity: number | null;
  readonly capacityFrom: 'stated' | 'inferred' | 'unknown';
  readonly visitsPerRequest: number | null;
  readonly ownDemandNs: number | null;
  readonly demandFlat: boolean | null;
  readonly saturatesAtPerSecond: number | null;
  /** Wait against hold: which of them grew. */
  readonly pattern: string | null;
  readonly windows: readonly ResourceWindow[];
  readonly holdComposition: readonly {
    readonly what: string;
    readonly share: number;
    readonly movable: boolean;
  }[];
}

/** How the service came back after the load fell below the knee. */
export interface Recovery {
  /** From the fall of the load to the first instant with as few requests in flight as before the overload; null: never. */
  readonly drainNs: number | null;
  /** Requests in flight at the end of the export beyond the level before the overload. */
  readonly residual: number;
  /** Until the backlog has drained at the knee less what arrives after the fall; null where that leaves nothing. */
  readonly predictedNs: number | null;
}
