import { spanIdText } from '../model/span-table.ts';
import { apportionedMeans, ExactSum, roundedMean } from './exact-sum.ts';
import type { Parts } from './groups.ts';
import { nearestRank } from './latency.ts';
import type { Requests } from './requests.ts';
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

/** @returns the mean decomposition of each cohort; the means of its parts add up to its mean. */
export function cohortsOf(requests: Requests, parts: Parts, trees: ArrayLike<number>): Cohort[] {
  const n = trees.length;
  if (n === 0) return [];
  const ranked = rankByDuration(requests, trees);
  return COHORTS.map(({ name, from, to }) => {
    // The slowest hundredth holds ceil(n / 100) requests.
    const first = name === 'slowest1%' ? n - Math.ceil(n / 100) : nearestRank(from, n) - 1;
    const members = ranked.slice(first, nearestRank(to, n));
    const sums = new Map<string, { segment: Cohort['segments'][number]; sum: ExactSum }>();
    const whole = new ExactSum();
    for (const t of members) {
      whole.add(requests.durationNs[t]);
      for (let e = parts.offset[t]; e < parts.offset[t + 1]; e++) {
        const { segment, resource } = parts.keys[parts.key[e]];
        const id = JSON.stringify([segment, resource]);
        let entry = sums.get(id);
        if (!entry) {
          entry = { segment: { segment, resource, meanNs: 0 }, sum: new ExactSum() };
          sums.set(id, entry);
        }
        entry.sum.add(parts.ns[e]);
      }
    }
    const rows = [...sums].sort(([a, x], [b, y]) =>
      x.sum.total === y.sum.total ? (a < b ? -1 : 1) : x.sum.total > y.sum.total ? -1 : 1,
    );
    const means = apportionedMeans(
      rows.map(([, row]) => row.sum.total),
      members.length,
    );
    return {
      name,
      count: members.length,
      meanNs: roundedMean(whole.total, members.length),
      segments: rows.map(([, row], i) => ({ ...row.segment, meanNs: means[i] })),
    };
  });
}

/** Fastest first; ties by trace id, then root span id, so that a cohort never depends on the order of the input. */
export function rankByDuration(requests: Requests, trees: ArrayLike<number>): number[] {
  const { forest, durationNs } = requests;
  const { table } = forest;
  return Array.from(trees).sort((a, b) => {
    if (durationNs[a] !== durationNs[b]) return durationNs[a] - durationNs[b];
    const x = forest.trees[a].root;
    const y = forest.trees[b].root;
    const s = table.traceIds[table.trace[x]];
    const t = table.traceIds[table.trace[y]];
    if (s !== t) return s < t ? -1 : 1;
    return spanIdText(table, x) < spanIdText(table, y) ? -1 : 1;
  });
}
