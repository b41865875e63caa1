import { build, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';

/** Values are kept in µs with three significant digits: an error of at most 0.1 %, from 1 µs to an hour. */
const NS_PER_UNIT = 1_000;
const HIGHEST = 3_600_000_000;

/** Distribution of one latency, ns. */
export interface LatencySummary {
  readonly n: number;
  /** How many of the values are only "at least": the client gave up waiting. */
  readonly atLeast: number;
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
  readonly p999: number | null;
  readonly max: number | null;
  readonly mean: number | null;
  /** The whole histogram, HdrHistogram V2 compressed, base64, in µs: histograms of several generators add up. */
  readonly histogram: string;
}

/** Collects latencies of one step in a histogram that can be added to others. */
export class LatencyRecorder {
  readonly #histogram: Histogram = build({
    bitBucketSize: 32,
    autoResize: true,
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST,
    numberOfSignificantValueDigits: 3,
  });
  #atLeast = 0;

  /** @param atLeast the real latency is longer, nobody waited for it. */
  record(ns: number, atLeast = false): void {
    this.#histogram.recordValue(Math.min(HIGHEST, Math.max(0, Math.round(ns / NS_PER_UNIT))));
    if (atLeast) this.#atLeast++;
  }

  /** @returns the latency in ns that `percentile` (0 to 100) percent of the values do not exceed; null without values. */
  percentileNs(percentile: number): number | null {
    const histogram = this.#histogram;
    if (histogram.totalCount === 0) return null;
    return Math.min(histogram.getValueAtPercentile(percentile), histogram.maxValue) * NS_PER_UNIT;
  }

  summary(): LatencySummary {
    const n = this.#histogram.totalCount;
    return {
      n,
      atLeast: this.#atLeast,
      p50: this.percentileNs(50),
      p90: this.percentileNs(90),
      p99: this.percentileNs(99),
      p999: this.percentileNs(99.9),
      max: n === 0 ? null : this.#histogram.maxValue * NS_PER_UNIT,
      mean: n === 0 ? null : Math.round(this.#histogram.mean * NS_PER_UNIT),
      histogram: n === 0 ? '' : encodeIntoCompressedBase64(this.#histogram),
    };
  }
}
