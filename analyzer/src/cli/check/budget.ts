import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import type { SegmentName } from '../../classify/types.ts';
import { parseDuration } from '../../model/duration.ts';

/** What a budget is about: a number of the requests, of one segment's time, or of one queue's. */
export type Subject =
  | { readonly of: 'requests' }
  | { readonly of: 'segment'; readonly segment: SegmentName }
  | { readonly of: 'resource'; readonly resource: string };

/** In thousandths of a percent, as aggregate/latency.ts takes them. */
const PERCENTILES = {
  p50: 50_000,
  p90: 90_000,
  p95: 95_000,
  p99: 99_000,
  'p99.9': 99_900,
  max: 100_000,
} as const;

/** What is limited: durations are ns, shares 0..1, rates per second. */
export type Measure =
  | { readonly kind: 'percentile'; readonly name: string; readonly milliPercent: number }
  | { readonly kind: 'mean' | 'share' | 'errors' | 'coverage' | 'knee' };

export interface Budget {
  /** As it was written. */
  readonly text: string;
  readonly subject: Subject;
  readonly measure: Measure;
  readonly sign: '<' | '<=' | '>' | '>=';
  readonly limit: number;
}

const PART = /^(?:(\S+)\s+)?([a-z0-9.]+)\s*([<>]=?)\s*(\S+)$/;

export const BUDGET_HELP =
  'write limits such as p99<200ms, errors<0.1%, coverage>80%, knee>100/s, lock_wait p99<20ms or pg-pool:signup share<5%';

/**
 * Parses budgets apart by commas: `p99<200ms, errors<0.1%, pool_wait p99<5ms`.
 *
 * @throws Error naming the part that is not understood.
 */
export function parseBudgets(text: string): Budget[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseBudget);
}

function parseBudget(text: string): Budget {
  const bad = (why: string) => new Error(`'${text}' is not understood; ${why}`);
  const match = PART.exec(text);
  if (match === null) throw bad(BUDGET_HELP);
  const [, about, name, sign, value] = match;
  const measure = measureOf(name);
  if (measure === null) throw bad(`${name} is nothing that can be limited; ${BUDGET_HELP}`);
  const subject = subjectOf(about);
  const { kind } = measure;
  if (subject.of !== 'requests' && (kind === 'errors' || kind === 'coverage' || kind === 'knee')) {
    throw bad(`${name} is a number of the requests, not of ${about}`);
  }
  if (subject.of === 'requests' && kind === 'share') {
    throw bad('share needs a segment or a queue before it: lock_wait share<5%');
  }
  const wanted = kind === 'coverage' || kind === 'knee' ? '>' : '<';
  if (!sign.startsWith(wanted)) throw bad(`${name} is limited with ${wanted}`);
  const limit = limitOf(kind, value);
  if (limit === null) throw bad(`'${value}' is no ${UNITS[kind]}`);
  return { text, subject, measure, sign: sign as Budget['sign'], limit };
}

function subjectOf(about: string | undefined): Subject {
  if (about === undefined) return { of: 'requests' };
  return (SEGMENTS as readonly string[]).includes(about)
    ? { of: 'segment', segment: about as SegmentName }
    : { of: 'resource', resource: about };
}

function measureOf(name: string): Measure | null {
  if (Object.hasOwn(PERCENTILES, name)) {
    return { kind: 'percentile', name, milliPercent: PERCENTILES[name as keyof typeof PERCENTILES] };
  }
  const kinds = ['mean', 'share', 'errors', 'coverage', 'knee'] as const;
  const kind = kinds.find((each) => each === name);
  return kind === undefined ? null : { kind };
}

const UNITS: Readonly<Record<Measure['kind'], string>> = {
  percentile: 'duration, such as 200ms',
  mean: 'duration, such as 200ms',
  share: 'share, such as 5%',
  errors: 'share, such as 0.1%',
  coverage: 'share, such as 80%',
  knee: 'rate, such as 100/s',
};

function limitOf(kind: Measure['kind'], value: string): number | null {
  if (kind === 'percentile' || kind === 'mean') return parseDuration(value);
  if (kind === 'knee') {
    const rate = /^(\d+(?:\.\d+)?)(?:\/s)?$/.exec(value);
    return rate === null ? null : Number(rate[1]);
  }
  const share = /^(\d+(?:\.\d+)?)(%?)$/.exec(value);
  if (share === null) return null;
  const ratio = Number(share[1]) / (share[2] === '%' ? 100 : 1);
  return ratio <= 1 ? ratio : null;
}
