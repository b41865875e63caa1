import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { type Classes, REQUEST_OUTCOMES, type RequestOutcome, type SegmentName } from '../classify/types.ts';
import { indexesTo } from '../model/ordering.ts';
import type { Partition } from '../partition/types.ts';
import type { Forest } from '../tree/types.ts';
import { cohortsOf } from './cohorts.ts';
import { type Counting, countingOf } from './counting.ts';
import { apportionedMeans, ExactSum, ratio } from './exact-sum.ts';
import { latencyOf, WeightedValues, weightedLatencyOf } from './latency.ts';
import type { Requests } from './requests-types.ts';
import type { OutcomeCounts, RequestGroup, RouteGroup, SegmentRow } from './types.ts';

/** One (service, segment, resource): a row of a decomposition table. */
export interface SegmentKey {
  readonly service: string;
  readonly segment: SegmentName;
  readonly resource: string | null;
}

/**
 * Time owned by each (service, segment, resource) in each tree: the parts of tree t are the entries
 * offset[t] .. offset[t + 1], and their ns sum to its duration. Computed once, grouped many times.
 */
export interface Parts {
  readonly keys: readonly SegmentKey[];
  readonly offset: Uint32Array;
  readonly key: Uint32Array;
  readonly ns: Float64Array;
  /** By tree: ns in which two or more gating children of one span were active. */
  readonly parallelNs: Float64Array;
}

/** Adds up what the spans of each tree own, by (service, segment, resource). Parts of 0 ns are left out. */
export function partsOf(forest: Forest, classes: Classes, partition: Partition): Parts {
  const { table, trees, order } = forest;
  const services = [...new Set(table.resources.map((resource) => resource.service))];
  // Processes of one service share a row.
  const serviceOf = table.resources.map((resource) => services.indexOf(resource.service));
  const index = new KeyIndex(services.length, classes.resources.length);
  const offset = new Uint32Array(trees.length + 1);
  const key: number[] = [];
  const ns: number[] = [];
  const at = new Map<number, number>();
  for (let t = 0; t < trees.length; t++) {
    at.clear();
    const { first, count } = trees[t];
    for (let i = first; i < first + count; i++) {
      const row = order[i];
      if (partition.owned[row] === 0) continue;
      const id = index.of(serviceOf[table.resource[row]], classes.segment[row], classes.resource[row]);
      const entry = at.get(id);
      if (entry === undefined) {
        at.set(id, ns.length);
        key.push(id);
        ns.push(partition.owned[row]);
      } else ns[entry] += partition.owned[row];
    }
    offset[t + 1] = ns.length;
  }
  return {
    keys: index.found.map(({ service, segment, resource }) => ({
      service: services[service],
      segment: SEGMENTS[segment],
      resource: resource < 0 ? null : classes.resources[resource],
    })),
    offset,
    key: Uint32Array.from(key),
    ns: Float64Array.from(ns),
    parallelNs: partition.parallel,
  };
}

/**
 * @returns counts, latency, decomposition and cohorts of any set of requests (indices into `requests`). Sampled requests
 * count as often as their weight says.
 */
export function requestGroup(requests: Requests, parts: Parts, members: ArrayLike<number>): RequestGroup {
  const n = members.length;
  const counting = countingOf(requests, members);
  const units = new Float64Array(n);
  const durations = new Float64Array(n);
  const outcomes = new Float64Array(REQUEST_OUTCOMES.length);
  const total = new ExactSum();
  const parallel = new ExactSum();
  const good: number[] = [];
  const success = REQUEST_OUTCOMES.indexOf('success');
  for (let i = 0; i < n; i++) {
    const r = members[i];
    units[i] = counting.of(r);
    durations[i] = requests.durationNs[r];
    total.addTimes(durations[i], units[i]);
    parallel.addTimes(parts.parallelNs[requests.tree[r]], units[i]);
    outcomes[requests.outcome[r]] += units[i];
    if (requests.outcome[r] === success) good.push(i);
  }
  const byOutcome = apportionedMeans(Array.from(outcomes, BigInt), counting.unit);
  const segments = segmentRows(requests, parts, members, counting);
  const unaccounted = segments
    .filter((row) => row.segment === 'unaccounted')
    .reduce((sum, row) => sum + row.totalNs, 0n);
  const hasTime = total.total > 0n;
  const latency = (chosen: ArrayLike<number>) =>
    counting.unit === 1
      ? latencyOf(picked(durations, chosen))
      : weightedLatencyOf(picked(durations, chosen), picked(units, chosen));
  return {
    count: byOutcome.reduce((a, b) => a + b, 0),
    byOutcome: outcomeCounts(byOutcome),
    latencyNs: latency(indexesTo(n)),
    goodLatencyNs: latency(good),
    parallelShare: hasTime ? ratio(parallel.total, total.total) : null,
    coverage: hasTime ? 1 - ratio(unaccounted * BigInt(counting.unit), total.total) : null,
    segments,
    cohorts: cohortsOf(requests, parts, members),
  };
}

/** What requests have in common: all together, route by route, and window by window. */
export interface RequestGroups {
  readonly all: RequestGroup;
  readonly routes: readonly RouteGroup[];
  readonly windows: readonly RequestGroup[];
}

/** @param windows how many there are */
export function requestGroups(requests: Requests, parts: Parts, windows: number): RequestGroups {
  const members = indexesTo(requests.count);
  return {
    all: requestGroup(requests, parts, members),
    routes: routeGroups(requests, parts, members),
    windows: windowGroups(requests, parts, windows),
  };
}

/** @returns one group a window: the requests whose roots start in it. */
export function windowGroups(requests: Requests, parts: Parts, windows: number): RequestGroup[] {
  const members: number[][] = Array.from({ length: windows }, () => []);
  for (let i = 0; i < requests.count; i++) if (requests.window[i] >= 0) members[requests.window[i]].push(i);
  return members.map((own) => requestGroup(requests, parts, own));
}

function picked(values: Float64Array, chosen: ArrayLike<number>): Float64Array {
  const some = new Float64Array(chosen.length);
  for (let i = 0; i < chosen.length; i++) some[i] = values[chosen[i]];
  return some;
}

/** Routes beyond this many stand together: where names hold ids, a table of a million of them tells nothing. */
const MOST_ROUTES = 500;
export const OTHER_ROUTES = '(other routes)';

/** @returns one group a route, the most time first; of more than {@link MOST_ROUTES} the rest as one. */
export function routeGroups(requests: Requests, parts: Parts, members: ArrayLike<number>): RouteGroup[] {
  const byRoute = new Map<number, number[]>();
  for (let i = 0; i < members.length; i++) {
    const route = requests.route[members[i]];
    const list = byRoute.get(route);
    if (list) list.push(members[i]);
    else byRoute.set(route, [members[i]]);
  }
  const groups = withoutTail(requests, byRoute).map(({ route, list }) => ({
    route,
    ...requestGroup(requests, parts, list),
  }));
  return groups.sort((a, b) => totalOf(b) - totalOf(a) || (a.route < b.route ? -1 : 1));
}

function withoutTail(
  requests: Requests,
  byRoute: ReadonlyMap<number, number[]>,
): { route: string; list: number[] }[] {
  const { routes, durationNs, weight } = requests;
  const all = [...byRoute].map(([route, list]) => ({ route: routes[route], list }));
  if (all.length <= MOST_ROUTES) return all;
  const timed = all.map((own) => ({
    ...own,
    time: own.list.reduce((sum, r) => sum + durationNs[r] * weight[r], 0),
  }));
  timed.sort((a, b) => b.time - a.time || (a.route < b.route ? -1 : 1));
  const rest = timed.splice(MOST_ROUTES - 1).flatMap((own) => own.list);
  return [...timed, { route: OTHER_ROUTES, list: rest.sort((a, b) => a - b) }];
}

/**
 * Decomposition rows of a set of requests, the most time first. p50 and p99 of a part are over all requests of the set,
 * with 0 where it owned nothing; unlike the means they do not add up.
 */
export function segmentRows(
  requests: Requests,
  parts: Parts,
  members: ArrayLike<number>,
  counting: Counting = countingOf(requests, members),
): SegmentRow[] {
  const counts = new Uint32Array(parts.keys.length);
  for (let i = 0; i < members.length; i++) {
    const t = requests.tree[members[i]];
    for (let e = parts.offset[t]; e < parts.offset[t + 1]; e++) counts[parts.key[e]]++;
  }
  const isWeighted = counting.unit > 1;
  const owned = Array.from(counts, (n): OwnedParts | null =>
    n === 0
      ? null
      : {
          ns: new Float64Array(n),
          units: isWeighted ? new Float64Array(n) : null,
          filled: 0,
          total: new ExactSum(),
        },
  );
  let all = 0;
  for (let i = 0; i < members.length; i++) {
    const t = requests.tree[members[i]];
    const units = counting.of(members[i]);
    all += units;
    for (let e = parts.offset[t]; e < parts.offset[t + 1]; e++) {
      const own = owned[parts.key[e]] as OwnedParts;
      own.ns[own.filled] = parts.ns[e];
      if (own.units !== null) own.units[own.filled] = units;
      own.filled++;
      own.total.addTimes(parts.ns[e], units);
    }
  }
  const sums = owned.flatMap((own, key) =>
    own === null ? [] : [{ key: parts.keys[key], ns: own.ns, units: own.units, total: own.total.total }],
  );
  // Parts of a tree add up to its root's duration, so this is the root time of the set.
  const whole = sums.reduce((sum, part) => sum + part.total, 0n);
  sums.sort((a, b) => (a.total === b.total ? compareKeys(a.key, b.key) : a.total > b.total ? -1 : 1));
  const means = apportionedMeans(
    sums.map((sum) => sum.total),
    all,
  );
  return sums.map(({ key, total, ns, units }, i) => {
    const values = new WeightedValues(ns, units);
    const zeros = all - values.units;
    return {
      ...key,
      totalNs: total / BigInt(counting.unit),
      share: ratio(total, whole),
      meanNs: means[i],
      p50Ns: values.percentile(50_000, zeros)!,
      p99Ns: values.percentile(99_000, zeros)!,
      count: Math.round(values.units / counting.unit),
    };
  });
}

/** What the requests of a set own under one key. */
interface OwnedParts {
  readonly ns: Float64Array;
  /** How much each of them counts; null: 1 each. */
  readonly units: Float64Array | null;
  filled: number;
  readonly total: ExactSum;
}

/** Orders rows of equal time: by segment in the order of the conventions, then service, then resource. */
export function compareKeys(a: SegmentKey, b: SegmentKey): number {
  return (
    SEGMENTS.indexOf(a.segment) - SEGMENTS.indexOf(b.segment) ||
    (a.service < b.service ? -1 : a.service > b.service ? 1 : 0) ||
    ((a.resource ?? '') < (b.resource ?? '') ? -1 : (a.resource ?? '') > (b.resource ?? '') ? 1 : 0)
  );
}

function outcomeCounts(counts: readonly number[]): OutcomeCounts {
  return Object.fromEntries(REQUEST_OUTCOMES.map((name, i) => [name, counts[i]])) as Record<
    RequestOutcome,
    number
  >;
}

function totalOf(group: RequestGroup): number {
  return (group.latencyNs.mean ?? 0) * group.count;
}

/** Numbers the (service, segment, resource) triples met, without building text for each span. */
class KeyIndex {
  readonly found: { service: number; segment: number; resource: number }[] = [];
  readonly #ids = new Map<number, number>();
  readonly #width: number;

  constructor(services: number, resources: number) {
    this.#width = (resources + 1) * SEGMENTS.length;
    if (!Number.isSafeInteger(this.#width * services)) throw new RangeError('too many resources');
  }

  of(service: number, segment: number, resource: number): number {
    const code = service * this.#width + (resource + 1) * SEGMENTS.length + segment;
    let id = this.#ids.get(code);
    if (id === undefined) {
      id = this.found.length;
      this.found.push({ service, segment, resource });
      this.#ids.set(code, id);
    }
    return id;
  }
}
