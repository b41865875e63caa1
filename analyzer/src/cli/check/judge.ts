import { countingOf } from '../../aggregate/counting.ts';
import { ExactSum, ratio } from '../../aggregate/exact-sum.ts';
import { requestGroup } from '../../aggregate/groups.ts';
import { WeightedValues } from '../../aggregate/latency.ts';
import { segmentIndex } from '../../classify/classify.ts';
import type { Classes } from '../../classify/types.ts';
import type { Analysis } from '../../infer/analysis.ts';
import { duration, percent, rate } from '../../report/units.ts';
import { suggestName } from '../suggest.ts';
import type { Budget, Measure, Subject } from './budget.ts';

/** A budget and what was measured. */
export interface Judged {
  readonly budget: Budget;
  /** In the unit of the budget; null: the input cannot say. */
  readonly value: number | null;
  /** What cannot be known is not kept: a check that passes for want of data guards nothing. */
  readonly kept: boolean;
  /** Why there is no value, or what else to know. */
  readonly note: string;
}

const HOLDS: Readonly<Record<Budget['sign'], (value: number, limit: number) => boolean>> = {
  '<': (value, limit) => value < limit,
  '<=': (value, limit) => value <= limit,
  '>': (value, limit) => value > limit,
  '>=': (value, limit) => value >= limit,
};

/** Judges every budget over some requests (indices into `analysis.requests`); `knee` is always one of all of them. */
export function judge(analysis: Analysis, members: Int32Array, budgets: readonly Budget[]): Judged[] {
  const group = requestGroup(analysis.requests, analysis.parts, members);
  return budgets.map((budget) => {
    const { value, note } = measured(budget);
    const kept = value !== null && HOLDS[budget.sign](value, budget.limit);
    return { budget, value, kept, note };
  });

  function measured({ subject, measure }: Budget): { value: number | null; note: string } {
    if (group.count === 0) return { value: null, note: 'no request' };
    switch (measure.kind) {
      case 'errors': {
        const failed = group.count - group.byOutcome.success;
        return { value: failed / group.count, note: '' };
      }
      case 'coverage':
        return { value: group.coverage, note: '' };
      case 'knee':
        return kneeOf(analysis);
      default:
        return timeOf(analysis, members, subject, measure);
    }
  }
}

/**
 * The knee; where the load never reached one, the highest rate that was kept up: a capacity above it is not proven. So a
 * budget holds only where that rate was really tried.
 */
function kneeOf({ verdict, windows, frame }: Analysis): { value: number | null; note: string } {
  if (verdict.kneePerSecond !== null) {
    return {
      value: verdict.kneePerSecond,
      note: verdict.first === null ? '' : `${verdict.first.resource} saturates`,
    };
  }
  if (verdict.status !== 'not-saturated' || windows.length === 0) {
    return { value: null, note: verdict.status.replaceAll('-', ' ') };
  }
  return { value: frame.topRate, note: 'highest rate of the load; no queue saturated' };
}

function timeOf(
  { requests, parts, classes }: Analysis,
  members: Int32Array,
  subject: Subject,
  measure: Measure,
): { value: number | null; note: string } {
  const missing = missingSubject(classes, subject);
  if (missing !== null) return { value: null, note: missing };
  const isOf = parts.keys.map(({ segment, resource }) =>
    subject.of === 'segment'
      ? segment === subject.segment
      : subject.of === 'resource' && resource === subject.resource,
  );
  const counting = countingOf(requests, members);
  const units = Float64Array.from(members, (r) => counting.of(r));
  const whole = new ExactSum();
  const own = new ExactSum();
  const values = Float64Array.from(members, (r, i) => {
    const durationNs = requests.durationNs[r];
    whole.addTimes(durationNs, units[i]);
    let ns = subject.of === 'requests' ? durationNs : 0;
    const tree = requests.tree[r];
    for (let e = parts.offset[tree]; subject.of !== 'requests' && e < parts.offset[tree + 1]; e++) {
      if (isOf[parts.key[e]]) ns += parts.ns[e];
    }
    own.addTimes(ns, units[i]);
    return ns;
  });
  const known = (value: number | null) => ({ value, note: '' });
  if (measure.kind === 'share') return known(ratio(own.total, whole.total));
  const sorted = new WeightedValues(values, units);
  if (measure.kind === 'mean') return known(Number(own.total) / sorted.units);
  return known(measure.kind === 'percentile' ? sorted.percentile(measure.milliPercent) : null);
}

/** @returns why the input cannot say how much time went there: no span of it was recorded; null where one was. */
function missingSubject(classes: Classes, subject: Subject): string | null {
  if (subject.of === 'segment') {
    return classes.segment.includes(segmentIndex(subject.segment)) ? null : 'not measured in this input';
  }
  if (subject.of === 'requests' || classes.resources.includes(subject.resource)) return null;
  const close = suggestName(subject.resource, classes.resources);
  return close === null ? 'no such queue' : `no such queue; did you mean ${close}?`;
}

/** @returns a value in the unit of its measure, for people. */
export function valueText(value: number | null, { kind }: Measure): string {
  if (kind === 'knee') return rate(value);
  return kind === 'percentile' || kind === 'mean' ? duration(value) : percent(value);
}
