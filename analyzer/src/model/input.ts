import type { Attributes, AttributeValue } from './attributes.ts';
import type { SpanTable } from './span-table.ts';
import type { TableParts } from './table-parts.ts';

/** One thing in the input that could not be used, and where it stands. */
export interface Rejected {
  readonly file: string;
  /** 1-based line, for line formats. */
  readonly line?: number;
  /** 0-based record, for framed formats. */
  readonly record?: number;
  /** Byte offset, where nothing better is known. */
  readonly offset?: number;
  readonly reason: string;
}

/** What one file was taken for and what it gave. */
export interface InputFile {
  readonly path: string;
  /** For people: `OTLP JSON lines, gzip`. */
  readonly format: string;
  readonly bytes: number;
  /** Span records read from it. */
  readonly spans: number;
  readonly rejected: number;
  /** One line that says why the file gave no spans; absent when it gave some. */
  readonly note?: string;
}

export interface NumberPoint {
  readonly kind: 'number';
  readonly timeUnixNano: bigint;
  readonly startUnixNano: bigint | null;
  readonly attributes: Attributes;
  /** null: "no recorded value". Integers beyond 2^53 are bigint. */
  readonly value: number | bigint | null;
}

export interface HistogramPoint {
  readonly kind: 'histogram';
  readonly timeUnixNano: bigint;
  readonly startUnixNano: bigint | null;
  readonly attributes: Attributes;
  readonly count: bigint;
  readonly sum: number | null;
  readonly min: number | null;
  readonly max: number | null;
  /** Upper bounds; bucketCounts has one more. */
  readonly bounds: readonly number[];
  readonly bucketCounts: readonly bigint[];
}

export interface ExponentialHistogramPoint {
  readonly kind: 'exponential';
  readonly timeUnixNano: bigint;
  readonly startUnixNano: bigint | null;
  readonly attributes: Attributes;
  readonly count: bigint;
  readonly sum: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly scale: number;
  readonly zeroCount: bigint;
  readonly positive: { readonly offset: number; readonly counts: readonly bigint[] };
  readonly negative: { readonly offset: number; readonly counts: readonly bigint[] };
}

/** Quantiles computed by the reporting process itself; they cannot be merged. */
export interface SummaryPoint {
  readonly kind: 'summary';
  readonly timeUnixNano: bigint;
  readonly startUnixNano: bigint | null;
  readonly attributes: Attributes;
  readonly count: bigint;
  readonly sum: number | null;
  readonly quantiles: readonly { readonly quantile: number; readonly value: number }[];
}

export type MetricPoint = NumberPoint | HistogramPoint | ExponentialHistogramPoint | SummaryPoint;

/** One metric of one Resource. */
export interface Metric {
  readonly name: string;
  readonly unit: string;
  /** Resource attributes of the process that reported it. */
  readonly resource: Attributes;
  readonly temporality: 'delta' | 'cumulative' | 'unspecified';
  readonly monotonic: boolean;
  readonly points: readonly MetricPoint[];
}

/** Everything read: spans, metrics, and an honest account of the rest. */
export interface Input {
  /** All spans; where they are spilled, none, but all that they share. */
  readonly table: SpanTable;
  /** Where memory was limited and there are more spans than it holds: where they are. To be closed. */
  readonly spilled?: TableParts | null;
  readonly metrics: readonly Metric[];
  readonly files: readonly InputFile[];
  readonly rejected: readonly Rejected[];
  /** Span records refused for a zero, empty or absent id (each also stands in `rejected`). */
  readonly invalidIds: number;
  readonly skipped: { readonly logs: number; readonly profiles: number };
  /** Content of every load plan met in a run directory, by path (parsed JSON, not yet validated). */
  readonly loadPlans: readonly { readonly path: string; readonly content: AttributeValue }[];
}
