import type { AttributeValue } from '../model/attributes.ts';
import { attribute } from '../model/span-table.ts';
import type { Forest } from '../tree/types.ts';
import { type Counting, countingOf } from './counting.ts';
import { WeightedValues } from './latency.ts';
import { entryOf } from './requests.ts';
import type { Requests } from './requests-types.ts';

/** One value of an attribute and the requests that carry it. */
export interface Split {
  /** null: requests without the attribute. */
  readonly value: string | null;
  /** Indices into the requests. */
  readonly members: readonly number[];
}

/** One value of an attribute stands for most of the slow requests, and for more of them than its size explains. */
export interface SplitExplanation {
  readonly value: string;
  /** Share of the slow requests that carry it, 0..1. */
  readonly shareOfSlow: number;
  /** Share of all requests that carry it, 0..1. */
  readonly shareOfAll: number;
  /** Requests are slow above this latency: p95 of all, ns. */
  readonly slowAboveNs: number;
  /** p99 of all requests, and without those of this value, ns. */
  readonly p99Ns: number;
  readonly p99WithoutNs: number | null;
}

/** Values beyond this many stand together: a table of a million user ids tells nothing. */
const MOST_VALUES = 50;
const OTHER = '(other values)';

/**
 * Splits requests by an attribute: of the root, else of the span at which the service took over, else of their
 * processes (the service's first), else of the first span of the tree that has it (the outermost one).
 *
 * @returns the values by the time of their requests, the most first.
 */
export function splitRequests(
  forest: Forest,
  requests: Requests,
  members: ArrayLike<number>,
  key: string,
): Split[] {
  const byValue = new Map<string | null, number[]>();
  for (let i = 0; i < members.length; i++) {
    const value = valueIn(forest, requests.tree[members[i]], key);
    const list = byValue.get(value);
    if (list) list.push(members[i]);
    else byValue.set(value, [members[i]]);
  }
  const time = (list: readonly number[]) =>
    list.reduce((sum, r) => sum + requests.durationNs[r] * requests.weight[r], 0);
  const splits = [...byValue]
    .map(([value, list]) => ({ value, members: list, time: time(list) }))
    .sort((a, b) => b.time - a.time || (String(a.value) < String(b.value) ? -1 : 1));
  if (splits.length <= MOST_VALUES) return splits.map(({ value, members: own }) => ({ value, members: own }));
  const rest = splits.slice(MOST_VALUES - 1).flatMap((split) => split.members);
  return [...splits.slice(0, MOST_VALUES - 1), { value: OTHER, members: rest }].map(
    ({ value, members: own }) => ({ value, members: own }),
  );
}

/**
 * Says when one value explains the slow part: at least 80 % of the requests slower than p95 carry it, and at least
 * twice as many as its share of all requests lets expect.
 */
export function explains(
  requests: Requests,
  members: ArrayLike<number>,
  splits: readonly Split[],
): SplitExplanation | null {
  const counting = countingOf(requests, members);
  const all = durationsOf(requests, counting, members);
  const slowAbove = all.percentile(95_000);
  const p99 = all.percentile(99_000);
  if (slowAbove === null || p99 === null) return null;
  const unitsOf = (list: readonly number[]) => list.reduce((sum, r) => sum + counting.of(r), 0);
  const isSlow = (r: number) => requests.durationNs[r] > slowAbove;
  const slow = unitsOf(Array.from(members).filter(isSlow));
  if (slow === 0) return null;
  for (const { value, members: own } of splits) {
    if (value === null || value === OTHER) continue;
    const shareOfSlow = unitsOf(own.filter(isSlow)) / slow;
    const shareOfAll = unitsOf(own) / all.units;
    if (shareOfSlow < 0.8 || shareOfSlow < 2 * shareOfAll) continue;
    const inside = new Set(own);
    const without = Array.from(members).filter((r) => !inside.has(r));
    return {
      value,
      shareOfSlow,
      shareOfAll,
      slowAboveNs: slowAbove,
      p99Ns: p99,
      p99WithoutNs: durationsOf(requests, counting, without).percentile(99_000),
    };
  }
  return null;
}

function durationsOf(requests: Requests, counting: Counting, members: ArrayLike<number>): WeightedValues {
  return new WeightedValues(
    Array.from(members, (r) => requests.durationNs[r]),
    counting.unit > 1 ? Array.from(members, (r) => counting.of(r)) : null,
  );
}

function valueIn(forest: Forest, tree: number, key: string): string | null {
  const { table, order, trees } = forest;
  const { root, first, count } = trees[tree];
  const entry = entryOf(forest, trees[tree]);
  const ofProcess = (row: number) => table.resources[table.resource[row]].attributes.get(key);
  const own =
    attribute(table, root, key) ?? attribute(table, entry, key) ?? ofProcess(entry) ?? ofProcess(root);
  if (own !== undefined && own !== null) return textOf(own);
  for (let i = first + 1; i < first + count; i++) {
    const value = attribute(table, order[i], key) ?? ofProcess(order[i]);
    if (value !== undefined && value !== null) return textOf(value);
  }
  return null;
}

function textOf(value: AttributeValue): string | null {
  if (value === null) return null;
  if (typeof value !== 'object') return String(value);
  return JSON.stringify(value, (_key, v) => (typeof v === 'bigint' ? v.toString() : v));
}
