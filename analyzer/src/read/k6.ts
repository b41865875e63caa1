import type { AttributeValue } from '../model/attributes.ts';
import type { Collector } from './collector.ts';
import type { JsonObject } from './otlp-values.ts';

/**
 * The results of a k6 run (`k6 run --out json=FILE`) as a load plan: what was started when, and what came of it.
 * One line a sample; read are `http_req_duration` (one a request) and `dropped_iterations`, the others repeat them.
 * https://grafana.com/docs/k6/latest/results-output/real-time/json/
 */
export function isK6Line(value: JsonObject): boolean {
  return typeof value.metric === 'string' && (value.type === 'Point' || value.type === 'Metric');
}

/** One plan a collector; lines of several files of one run add up. */
const plans = new WeakMap<Collector, K6Plan>();

export function readK6Line(value: JsonObject, collector: Collector): void {
  let plan = plans.get(collector);
  if (plan === undefined) {
    plan = new K6Plan();
    plans.set(collector, plan);
    // Filled line by line: its steps are worked out when they are asked for, after the last one.
    collector.loadPlan(plan as unknown as AttributeValue);
  }
  if (value.type === 'Point') plan.add(String(value.metric), value.data as JsonObject);
}

/** Counts are kept in tenths of a second, so that whole seconds can be counted from the first request on. */
const NS_PER_BIN = 100_000_000n;
const BINS_PER_SECOND = 10;
const NS_PER_MS = 1e6;
/** k6 error code of a request that took too long. */
const REQUEST_TIMEOUT = '1050';
/** Two seconds in a row this far from the mean rate of a step begin another one: 20 %, and three times its Poisson noise. */
const CHANGE_SHARE = 0.2;
const CHANGE_NOISE = 3;

const OUTCOMES = ['succeeded', 'rejected', 'timedOut', 'transportFailed', 'invalid'] as const;
type Outcome = (typeof OUTCOMES)[number];
type Counts = { started: number; dropped: number } & Record<Outcome, number>;

const none = (): Counts => ({
  started: 0,
  dropped: 0,
  succeeded: 0,
  rejected: 0,
  timedOut: 0,
  transportFailed: 0,
  invalid: 0,
});

class K6Plan {
  readonly manifest = { source: 'k6' };
  /** By start, in bins since the epoch. */
  readonly #bins = new Map<bigint, Counts>();

  add(metric: string, data: JsonObject): void {
    const at = unixNano(data?.time);
    const number = Number(data?.value);
    if (at === null || !Number.isFinite(number)) return;
    if (metric === 'dropped_iterations') this.#bin(at).dropped += number;
    if (metric !== 'http_req_duration') return;
    // A sample is taken when the answer is complete; its value is the time since the sending, in ms.
    const counts = this.#bin(at - BigInt(Math.round(number * NS_PER_MS)));
    counts.started++;
    counts[outcomeOf((data.tags ?? {}) as JsonObject)]++;
  }

  /** What `load.json` has as steps: stretches of one rate, found in the seconds from the first request on. */
  get steps(): object[] {
    const bins = [...this.#bins.keys()].sort((a, b) => (a < b ? -1 : 1));
    if (bins.length === 0) return [];
    const first = bins[0];
    const seconds: Counts[] = [];
    for (const bin of bins) {
      const second = Math.floor(Number(bin - first) / BINS_PER_SECOND);
      while (seconds.length <= second) seconds.push(none());
      addTo(seconds[second], this.#bins.get(bin)!);
    }
    // The last second is only begun: it belongs to the last step, but says nothing about its rate.
    const whole = Math.max(1, seconds.length - 1);
    return segments(seconds.slice(0, whole).map(planned)).map(([from, to]) => {
      const rate = seconds.slice(from, to).reduce((sum, one) => sum + planned(one), 0) / (to - from);
      const counts = none();
      const end = to === whole ? seconds.length : to;
      for (const one of seconds.slice(from, end)) addTo(counts, one);
      return {
        startUnixNano: String((first + BigInt(from * BINS_PER_SECOND)) * NS_PER_BIN),
        endUnixNano: String((first + BigInt(end * BINS_PER_SECOND)) * NS_PER_BIN),
        arrivalsPerSecond: rate,
        planned: planned(counts),
        ...counts,
      };
    });
  }

  #bin(atNs: bigint): Counts {
    const bin = atNs / NS_PER_BIN;
    let counts = this.#bins.get(bin);
    if (counts === undefined) {
      counts = none();
      this.#bins.set(bin, counts);
    }
    return counts;
  }
}

const planned = ({ started, dropped }: Counts): number => started + dropped;

function addTo(sum: Counts, other: Counts): void {
  for (const key of Object.keys(sum) as (keyof Counts)[]) sum[key] += other[key];
}

function outcomeOf(tags: JsonObject): Outcome {
  const status = Number(tags.status ?? 0);
  if (status === 0) return tags.error_code === REQUEST_TIMEOUT ? 'timedOut' : 'transportFailed';
  if (status === 429 || status === 503) return 'rejected';
  return tags.expected_response === 'false' || status >= 400 ? 'invalid' : 'succeeded';
}

/** @returns half-open ranges of seconds with one rate each. */
function segments(rates: readonly number[]): [from: number, to: number][] {
  const found: [number, number][] = [];
  let from = 0;
  let sum = rates[0];
  for (let at = 1; at < rates.length; at++) {
    const mean = sum / (at - from);
    const apart = Math.max(CHANGE_SHARE * mean, CHANGE_NOISE * Math.sqrt(mean));
    const changed = (rate: number | undefined) => rate !== undefined && Math.abs(rate - mean) > apart;
    if (changed(rates[at]) && changed(rates[at + 1])) {
      found.push([from, at]);
      from = at;
      sum = 0;
    }
    sum += rates[at];
  }
  found.push([from, rates.length]);
  return found;
}

/** @returns epoch ns of an RFC 3339 time with up to nine decimals; null for anything else. */
function unixNano(time: unknown): bigint | null {
  const parts = typeof time === 'string' ? /^(.*?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(time) : null;
  const ms = parts ? Date.parse(`${parts[1]}${parts[3]}`) : Number.NaN;
  if (parts === null || Number.isNaN(ms)) return null;
  return BigInt(ms) * 1_000_000n + BigInt((parts[2] ?? '').padEnd(9, '0'));
}
