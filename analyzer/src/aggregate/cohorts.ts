import { sortByKey } from '../model/ordering.ts';
import { countingOf } from './counting.ts';
import { apportionedMeans, ExactSum, roundedMean } from './exact-sum.ts';
import type { Parts } from './groups.ts';
import { nearestRank } from './latency.ts';
import type { Requests } from './requests-types.ts';
import type { Cohort } from './types.ts';

/**
 * Requests around a percentile, by rank of their duration, both ends included, in thousandths of a percent:
 * the middle tenth, the hundredth around p99, and the slowest hundredth. Every cohort has at least one request.
 */
const COHORTS = [
  { name: 'median', from: 45_000, to: 55_000 },
  { name: 'p99', from: 98_500, to: 99_500 },
  { name: 'slowest1%', from: 99_000, to: 100_000 },
] as const;

/**
 * @returns the mean decomposition of each cohort; the means of its parts add up to its mean. Sampled requests count as
 * often as their weight says; `count` is the number seen.
 */
export function cohortsOf(requests: Requests, parts: Parts, members: ArrayLike<number>): Cohort[] {
  const n = members.length;
  if (n === 0) return [];
  const ranked = rankByDuration(requests, members);
  const counting = countingOf(requests, members);
  const upTo = new Float64Array(n);
  for (let i = 0; i < n; i++) upTo[i] = (i > 0 ? upTo[i - 1] : 0) + counting.of(ranked[i]);
  const all = upTo[n - 1];
  return COHORTS.map(({ name, from, to }) => {
    // The slowest hundredth holds ceil(n / 100) requests.
    const before = name === 'slowest1%' ? all - Math.ceil(all / 100) : nearestRank(from, all) - 1;
    const last = nearestRank(to, all);
    const chosen = ranked.filter((r, i) => upTo[i] > before && upTo[i] - counting.of(r) < last);
    const units = chosen.reduce((sum, r) => sum + counting.of(r), 0);
    const sums = new Map<string, { segment: Cohort['segments'][number]; sum: ExactSum }>();
    /** By number of their key: the same entries. */
    const byKey: { segment: Cohort['segments'][number]; sum: ExactSum }[] = [];
    const entryOf = (key: number) => {
      const { segment, resource } = parts.keys[key];
      const id = JSON.stringify([segment, resource]);
      const entry = sums.get(id) ?? { segment: { segment, resource, meanNs: 0 }, sum: new ExactSum() };
      sums.set(id, entry);
      return entry;
    };
    const whole = new ExactSum();
    for (const r of chosen) {
      whole.addTimes(requests.durationNs[r], counting.of(r));
      const t = requests.tree[r];
      for (let e = parts.offset[t]; e < parts.offset[t + 1]; e++) {
        const entry = (byKey[parts.key[e]] ??= entryOf(parts.key[e]));
        entry.sum.addTimes(parts.ns[e], counting.of(r));
      }
    }
    const rows = [...sums].sort(([a, x], [b, y]) =>
      x.sum.total === y.sum.total ? (a < b ? -1 : 1) : x.sum.total > y.sum.total ? -1 : 1,
    );
    const means = apportionedMeans(
      rows.map(([, row]) => row.sum.total),
      units,
    );
    return {
      name,
      count: chosen.length,
      meanNs: roundedMean(whole.total, units),
      segments: rows.map(([, row], i) => ({ ...row.segment, meanNs: means[i] })),
    };
  });
}

/** Fastest first; ties in the order of the requests, which does not depend on the order of the input. */
export function rankByDuration(requests: Requests, members: ArrayLike<number>): Int32Array {
  const ranked = new Int32Array(members).sort();
  sortByKey(ranked, requests.durationNs);
  return ranked;
}
