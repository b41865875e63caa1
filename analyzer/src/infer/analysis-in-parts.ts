import { collectActivity, type KnownBefore, statingServices } from '../aggregate/collect-activity.ts';
import { GatheredRequests } from '../aggregate/gathered-requests.ts';
import { Gathering } from '../aggregate/gathering.ts';
import { partsOf } from '../aggregate/groups.ts';
import { collectRequests } from '../aggregate/requests.ts';
import type { Requests } from '../aggregate/requests-types.ts';
import { MOST_TEXTS, StatementReader } from '../aggregate/statement.ts';
import type { EachPart } from '../aggregate/tree-parts.ts';
import { REQUEST_OUTCOMES, type ResourceKind } from '../classify/types.ts';
import { collectGarbage } from '../model/garbage.ts';
import type { Input } from '../model/input.ts';
import { Names } from '../model/names.ts';
import type { TableParts } from '../model/table-parts.ts';
import { TallySum } from '../tree/tally.ts';
import { type AnalyzeOptions, type Answer, analyze, conclude, cutUp } from './analysis.ts';
import { detailsIn, type SpanDetails, type SpanLookup } from './span-lookup.ts';

/**
 * As {@link analyze}, of an input whose spans are not all in memory: whole traces are looked at part by part, once for
 * what they say and once more for what their holds consist of. The answer is the same.
 *
 * @param onPart called before each part
 */
export function analyzeInParts(
  input: Input,
  parts: TableParts,
  options: AnalyzeOptions = {},
  onPart: (progress: PartProgress) => void = () => {},
): Answer {
  // What an export states nothing about is rebuilt by comparing its traces with each other.
  if (!new Gathering(input.table).activity.stated)
    return analyze({ ...input, table: parts.whole() }, options);
  let known = firstGuess(input, parts, options);
  for (;;) {
    const told = (pass: number) => (part: number) =>
      onPart({ spans: parts.rows, pass, passes: PASSES, part, parts: parts.count });
    const pass = gather(input, parts, options, known, told(1));
    const missed = pass.learnt(known);
    if (missed === null) return concludeParts(input, parts, options, pass, told(2));
    known = missed;
  }
}

export interface PartProgress {
  /** Of all parts. */
  readonly spans: number;
  /** 1: what the spans say; 2: what holds consist of. */
  readonly pass: number;
  readonly passes: number;
  /** Parts done in this pass. */
  readonly part: number;
  readonly parts: number;
}

const PASSES = 2;

/** What has to be known of all parts before one can be read. */
interface Known extends KnownBefore {
  readonly substitutes: boolean;
}

/** Parts are much alike: what holds for the first nearly always holds for all, and is checked afterwards. */
function firstGuess(input: Input, parts: TableParts, options: AnalyzeOptions): Known {
  const guess = { substitutes: false, instrumented: new Set<string>(), fewTexts: true, kinds: new Map() };
  if (parts.count === 0) return guess;
  const pass = gather(input, parts, options, guess, () => {}, 1);
  return pass.learnt(guess) ?? guess;
}

interface Pass {
  readonly tally: TallySum;
  readonly gathering: Gathering;
  readonly requests: GatheredRequests;
  readonly routes: Names;
  readonly names: Names;
  readonly originUnixNano: bigint;
  /** Number of the first row and the first request of each part, and of what would follow the last. */
  readonly firstRow: readonly number[];
  readonly firstRequest: readonly number[];
  readonly rank: Int32Array;
  readonly order: Int32Array;
  readonly substitutes: boolean;
  /** @returns what should have been known; null where it was. */
  learnt(known: Known): Known | null;
}

/** One pass over the parts. */
function gather(
  input: Input,
  parts: TableParts,
  options: AnalyzeOptions,
  known: Known,
  onPart: (part: number) => void,
  most = parts.count,
): Pass {
  const tally = new TallySum();
  const gathering = new Gathering(input.table);
  const requests = new GatheredRequests();
  const routes = new Names();
  const names = new Names();
  const instrumented = new Set<string>();
  const texts = new Set<number>();
  const firstRow = [0];
  const firstRequest = [0];
  const tidy = tidier();
  let originUnixNano: bigint | null = null;
  for (let part = 0; part < most; part++) {
    onPart(part);
    const table = parts.load(part);
    const { forest, partition, classes } = cutUp(table, options, names);
    tally.add(forest);
    const own = collectRequests(forest, classes, options, {
      substitutes: known.substitutes,
      originUnixNano,
      routes,
    });
    if (own.count > 0) originUnixNano ??= own.originUnixNano;
    gathering.startPart(firstRow[part], firstRequest[part]);
    collectActivity(forest, partition, classes, own, gathering, known);
    requests.add(forest, own, partsOf(forest, classes, partition));
    for (const service of statingServices(forest, classes)) instrumented.add(service);
    if (texts.size <= MOST_TEXTS) for (const text of new StatementReader(table).texts()) texts.add(text);
    firstRow.push(firstRow[part] + table.length);
    firstRequest.push(requests.length);
    tidy(table.length);
  }
  const order = requests.inOrder();
  const rank = new Int32Array(order.length);
  for (let i = 0; i < order.length; i++) rank[order[i]] = i;
  return {
    tally,
    gathering,
    requests,
    routes,
    names,
    originUnixNano: originUnixNano ?? 0n,
    firstRow,
    firstRequest,
    rank,
    order,
    substitutes: known.substitutes,
    learnt(before) {
      const { trees, trueRoots } = tally.total();
      const now: Known = {
        substitutes: trees > 0 && trueRoots === 0,
        instrumented,
        fewTexts: texts.size <= MOST_TEXTS,
        kinds: gathering.index.kinds((request) => rank[request]),
      };
      const isSame =
        now.substitutes === before.substitutes &&
        now.fewTexts === before.fewTexts &&
        instrumented.size === before.instrumented.size &&
        [...instrumented].every((service) => before.instrumented.has(service)) &&
        sameKinds(gathering.namedByHolds, now.kinds, before.kinds);
      return isSame ? null : now;
    },
  };
}

function sameKinds(
  names: ReadonlySet<string>,
  a: ReadonlyMap<string, ResourceKind>,
  b: ReadonlyMap<string, ResourceKind>,
): boolean {
  return [...names].every((name) => a.get(name) === b.get(name));
}

function concludeParts(
  input: Input,
  parts: TableParts,
  options: AnalyzeOptions,
  pass: Pass,
  onPart: (part: number) => void,
): Answer {
  const { gathering, rank, order, firstRow, firstRequest, names } = pass;
  const requests = pass.requests.settle(order, pass.routes.list, {
    outcomes: REQUEST_OUTCOMES,
    substitutes: pass.substitutes,
  });
  pass.requests.forget();
  gathering.settle(rank, Number(requests.originUnixNano - pass.originUnixNano));
  const eachPart: EachPart = (visit) => {
    const tidy = tidier();
    for (let part = 0; part < parts.count; part++) {
      onPart(part);
      const { forest, classes } = cutUp(parts.load(part), options, names);
      visit({
        forest,
        classes,
        firstRow: firstRow[part],
        requests: rank.slice(firstRequest[part], firstRequest[part + 1]),
      });
      tidy(forest.table.length);
    }
  };
  return conclude(
    {
      input,
      tally: pass.tally.total(),
      requests,
      parts: pass.requests.parts(),
      gathering,
      rows: Math.max(0, ...firstRow.slice(1).map((end, part) => end - firstRow[part])),
      eachPart,
      spans: lookupOf(parts, firstRow, requests, pass.requests),
    },
    options,
  );
}

/** Parts leave as much behind as they take; every so many rows it is collected. */
const TIDY_AFTER_ROWS = 200_000;

function tidier(): (rows: number) => void {
  let since = 0;
  return (rows) => {
    since += rows;
    if (since < TIDY_AFTER_ROWS) return;
    collectGarbage(since);
    since = 0;
  };
}

/** Finds spans by loading the parts they lie in. */
function lookupOf(
  parts: TableParts,
  firstRow: readonly number[],
  requests: Requests,
  gathered: GatheredRequests,
): SpanLookup {
  return {
    details(rows) {
      const found = new Map<number, SpanDetails>();
      for (let part = 0; part < parts.count; part++) {
        const first = firstRow[part];
        const own = rows.filter((row) => row >= first && row < firstRow[part + 1]);
        if (own.length === 0) continue;
        const details = detailsIn(
          parts.load(part),
          own.map((row) => row - first),
        );
        for (const [row, detail] of details) found.set(first + row, detail);
      }
      return found;
    },
    routes(traceIds) {
      const routes = new Map<string, string>();
      if (traceIds.size === 0) return routes;
      for (let i = 0; i < requests.count; i++) {
        const id = gathered.traceId(requests.tree[i]);
        if (traceIds.has(id)) routes.set(id, requests.routes[requests.route[i]]);
      }
      return routes;
    },
  };
}
