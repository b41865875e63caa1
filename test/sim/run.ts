import type { Ledger } from './accounting.ts';
import type { Scenario } from './scenario.ts';
import type { SimSpan } from './spans.ts';
import type { QueueStats } from './statistics.ts';

export type SimOutcome = 'success' | 'rejected' | 'timeout' | 'error';

/** One request as it happened. */
export interface SimRequest {
  readonly id: number;
  readonly route: number;
  /** Requests that visit the same queues: route, and whether a hot row is locked. */
  readonly visitClass: number;
  readonly replica: number;
  /** Load step of its arrival. */
  readonly step: number;
  readonly arrivalNs: number;
  /** -1 while it has not ended. */
  endNs: number;
  outcome: SimOutcome;
  /** Null where the run does not record. */
  readonly ledger: Ledger | null;
  root: SimSpan | null;
}

export interface Run {
  readonly scenario: Scenario;
  readonly requests: readonly SimRequest[];
  /** In order of start; empty where the run does not record. */
  readonly spans: readonly SimSpan[];
  readonly stats: QueueStats;
  /** Start of each load step, and the end of the last. */
  readonly stepStartsNs: readonly number[];
  /** Waiters and busy slots integrated over time, by resource, of queues with slots. */
  readonly gauges: ReadonlyMap<string, { readonly waitingIntegral: number; readonly busyIntegral: number }>;
  /** When the last event ran. */
  readonly endNs: number;
}

export interface RunOptions {
  /** Spans and ledgers are kept only when true; they double the time a run takes. */
  readonly record: boolean;
  /** Stops at the end of the last step instead of letting the backlog drain. */
  readonly stopAtEnd: boolean;
}
