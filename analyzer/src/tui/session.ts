import type { RequestGroup } from '../aggregate/types.ts';
import type { RequestOutcome, SegmentName } from '../classify/types.ts';
import type { WhatIf } from '../infer/types.ts';
import type { Document } from '../report/document.ts';
import type { Report } from '../report/types.ts';
import type { RootKind } from '../tree/types.ts';

/** The traces of an input as columns, ordered by start: a list of 200,000 must sort and scroll at once. */
export interface TraceColumns {
  readonly count: number;
  readonly traceIds: readonly string[];
  readonly routes: readonly string[];
  readonly route: Int32Array;
  readonly services: readonly string[];
  readonly service: Int32Array;
  /** ns after the first trace's start. */
  readonly startNs: Float64Array;
  readonly originUnixNano: bigint;
  readonly durationNs: Float64Array;
  readonly outcomes: readonly RequestOutcome[];
  readonly outcome: Uint8Array;
  readonly kinds: readonly RootKind[];
  readonly kind: Uint8Array;
  /** By index into the conventions' SEGMENTS: ns owned in each trace. */
  readonly segmentNs: readonly Float64Array[];
  /** 1 in the middle tenth around the median, 2 in the slowest 1 %, else 0. */
  readonly cohort: Uint8Array;
}

/** The other end of a `blocked_by` link, or what the waiter itself says of it. */
export interface Blocker {
  readonly traceId: string;
  readonly spanId: string;
  /** Index of the blocker's trace; -1 when it is not in the input. */
  readonly trace: number;
  /** Row of the blocker's span in the input; -1 when it is not there. */
  readonly row: number;
  readonly name: string;
  readonly statement: string;
  readonly state: string;
  readonly ageNs: number | null;
  readonly heldNs: number | null;
}

/** One span of an opened trace. Times in ns after the root's start, clipped to the root. */
export interface TraceRow {
  readonly row: number;
  readonly spanId: string;
  readonly name: string;
  readonly service: string;
  readonly depth: number;
  /** Index of the parent in the list of rows; -1 for the root and for detached spans. */
  readonly parent: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly ownedNs: number;
  /** Stretches it owns itself, in time order. */
  readonly owned: readonly (readonly [startNs: number, endNs: number])[];
  readonly segment: SegmentName;
  readonly resource: string | null;
  readonly error: boolean;
  /** `detached`: ran on after everything that could have waited for it; owns nothing. */
  readonly detached: boolean;
  readonly estimated: boolean;
  /** Bounds of an estimated interval's length, ns; null where not stated. */
  readonly estimateMinNs: number | null;
  readonly estimateMaxNs: number | null;
  readonly heldNs: number | null;
  readonly queueDepth: number | null;
  readonly blockers: readonly Blocker[];
}

export interface TraceDetail {
  readonly index: number;
  readonly traceId: string;
  readonly route: string;
  readonly service: string;
  readonly outcome: RequestOutcome;
  readonly kind: RootKind;
  /** HTTP status where the root has one. */
  readonly status: string;
  readonly startUnixNano: bigint;
  readonly durationNs: number;
  /** Parents before children, siblings by start; detached ones last. */
  readonly rows: readonly TraceRow[];
  /** Trees of the same trace besides this one (a parent is missing between them), by index into the list of traces. */
  readonly otherParts: readonly number[];
  /** The partition as one strip, in time order; sums to the duration. `row` is an index into `rows`. */
  readonly pieces: readonly { readonly row: number; readonly startNs: number; readonly endNs: number }[];
}

/** Everything about one span that the waterfall does not show. */
export interface SpanDetail {
  readonly attributes: readonly (readonly [key: string, value: string])[];
  readonly events: readonly { readonly offsetNs: number | null; readonly name: string }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string; readonly meaning: string }[];
  readonly scope: string;
  readonly statusMessage: string;
}

/** One long wait for a resource. */
export interface WaitExample {
  /** Index of the trace. */
  readonly trace: number;
  readonly row: number;
  readonly waitNs: number;
  readonly blocker: Blocker | null;
  readonly queueDepth: number | null;
}

/** What many waits or holds have in common. */
export interface Tally {
  readonly name: string;
  readonly count: number;
  readonly totalNs: number;
}

/** Who waits for a resource and who holds it. */
export interface WaitSummary {
  /** Waits of some length, and their sum. */
  readonly count: number;
  readonly totalNs: number;
  /** The longest waits, longest first. */
  readonly examples: readonly WaitExample[];
  /** Waiting and holding time by route, most first. */
  readonly waiters: readonly Tally[];
  readonly holders: readonly Tally[];
  /** The spans that held up most waiting time, by their links: trace, row, waiters, and the time these waited. */
  readonly blockers: readonly (Tally & { readonly trace: number; readonly row: number })[];
}

/** One value of an attribute and the requests that carry it. */
export interface Split {
  readonly value: string;
  readonly group: RequestGroup;
}

/** The run before a change, beside the one that the other views show. */
export interface ComparedWith {
  /** Names of the two inputs. */
  readonly before: string;
  readonly after: string;
  readonly report: Report;
  readonly conclusion: string;
  /** The evidence record of the change. */
  readonly record: Document;
}

/**
 * How far the analysis has come: `reading` the input; `requests`: every trace is cut up, so traces, routes and input can be
 * shown; `complete`: queues and verdict as well.
 */
export type Stage = 'reading' | 'requests' | 'complete';

/** What is being done, for as long as the analysis is not complete. */
export interface ReadingProgress {
  readonly phase: 'reading' | 'analysing';
  /** Bytes read so far, as they stand on disk. */
  readonly bytes: number;
  /** Bytes of all files; null where that cannot be known. */
  readonly totalBytes: number | null;
  readonly spans: number;
}

/** What the screens ask for. The analysis lives in a worker; only what a screen shows crosses over. */
export interface Session {
  readonly title: string;
  readonly stage: Stage;
  /** Null once the analysis is complete. */
  readonly progress: ReadingProgress | null;
  /** At stage `requests` only input, requests and routes are filled in. */
  readonly report: Report;
  readonly traces: TraceColumns;
  /** The run before the change, when this one is compared with it; absent with one input. */
  readonly comparison?: ComparedWith;
  /** Opens a trace by its index. */
  trace(index: number): Promise<TraceDetail>;
  span(row: number): Promise<SpanDetail>;
  /** Who waits for a resource and who holds it, with the longest waits, at most `limit`. */
  waits(resource: string, limit: number): Promise<WaitSummary>;
  /** Predicts one change; throws with a readable message when the text cannot be understood. */
  whatIf(change: string): Promise<WhatIf>;
  /** The requests whose root starts in one window, by its index in the report. */
  step(window: number): Promise<RequestGroup>;
  /** Splits the requests by a span or resource attribute of the root. */
  split(attribute: string): Promise<readonly Split[]>;
}
