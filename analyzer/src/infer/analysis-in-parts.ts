import type { GatheredRequests } from '../aggregate/gathered-requests.ts';
import { Gathering } from '../aggregate/gathering.ts';
import type { RequestGroups } from '../aggregate/groups.ts';
import type { Requests } from '../aggregate/requests-types.ts';
import { MOST_TEXTS } from '../aggregate/statement.ts';
import type { EachPart } from '../aggregate/tree-parts.ts';
import { REQUEST_OUTCOMES, type ResourceKind } from '../classify/types.ts';
import type { Input } from '../model/input.ts';
import { sharedI32 } from '../model/shared-memory.ts';
import { startUnixNano } from '../model/span-table.ts';
import type { TableParts } from '../model/table-parts.ts';
import { type AnalyzeOptions, type Answer, analyze, cutUp, type Found, judge, measure } from './analysis.ts';
import { GatheredParts, type Known } from './gathered-parts.ts';
import { PartThreads } from './part-threads.ts';
import { detailsIn, type SpanDetails, type SpanLookup } from './span-lookup.ts';
import { takeParts } from './take-parts.ts';

export interface InParts {
  /** Called before each part this thread reads. */
  readonly onPart?: (progress: PartProgress) => void;
  /** Threads that read the parts of a file, this one included. The answer is the same for any number of them. */
  readonly threads?: number;
}

/**
 * As {@link analyze}, whole traces part by part: an input need not be in memory, a part small enough is worked on in the
 * caches of a processor, and several threads may share them. The answer is the same.
 */
export async function analyzeInParts(
  input: Input,
  parts: TableParts,
  options: AnalyzeOptions = {},
  { onPart = () => {}, threads = 1 }: InParts = {},
): Promise<Answer> {
  // What an export states nothing about is rebuilt by comparing its traces with each other.
  if (!new Gathering(parts.common).activity.stated)
    return analyze({ ...input, table: parts.whole() }, options);
  const firstRow = firstRows(parts);
  const { toleranceNs, keepClocks, fromUnixNano, toUnixNano, rules } = options;
  const shared = threads < 2 || parts.count < 2 ? null : parts.share();
  const expectedRows = parts.rows / (shared === null ? 1 : threads);
  let others =
    shared === null
      ? null
      : new PartThreads(Math.min(threads, parts.count) - 1, {
          parts: shared,
          options: { toleranceNs, keepClocks, fromUnixNano, toUnixNano },
          rules: rules?.rules ?? null,
          firstRow,
          expectedRows,
        });
  try {
    let known = firstGuess(parts, options);
    for (;;) {
      const next = sharedI32(1);
      const theirs = others?.gather({ known, next });
      const gathered = new GatheredParts(parts.common, options, known);
      takeParts(parts.count, next, (part) => {
        onPart({ spans: parts.rows, part, parts: parts.count });
        gathered.read(part, parts.load(part), firstRow[part], expectedRows);
      });
      const packed = theirs === undefined ? [] : await theirs;
      if (packed === null) {
        // What a lost thread had read is read again, without others.
        await others?.close();
        others = null;
        continue;
      }
      for (const one of packed) gathered.merge(one);
      const { rank, order } = inOrder(gathered.requests);
      const missed = learnt(gathered, rank, known);
      if (missed === null) {
        const read = { gathered, known, firstRow, rank, order };
        return await concludeParts(input, parts, options, read, others);
      }
      known = missed;
    }
  } finally {
    await others?.close();
  }
}

export interface PartProgress {
  /** Of all parts. */
  readonly spans: number;
  /** Parts done. */
  readonly part: number;
  readonly parts: number;
}

/** Number of the first row of each part, and of what would follow the last. */
function firstRows(parts: TableParts): number[] {
  const first = [0];
  for (let part = 0; part < parts.count; part++) first.push(first[part] + parts.rowsOf(part));
  return first;
}

/** Parts are much alike: what holds for the first nearly always holds for all, and is checked afterwards. */
function firstGuess(parts: TableParts, options: AnalyzeOptions): Known {
  let guess: Known = {
    substitutes: false,
    originUnixNano: 0n,
    instrumented: new Set(),
    fewTexts: true,
    kinds: new Map(),
  };
  for (let part = 0; part < parts.count; part++) {
    const table = parts.load(part);
    const { trees } = cutUp(table, options).forest;
    if (trees.length === 0) continue;
    guess = { ...guess, originUnixNano: startUnixNano(table, trees[0].root) };
    const gathered = new GatheredParts(parts.common, options, guess);
    gathered.read(part, table, 0, table.length);
    return learnt(gathered, inOrder(gathered.requests).rank, guess) ?? guess;
  }
  return guess;
}

/** @returns the requests in order, and where each stands in it. */
function inOrder(requests: GatheredRequests): { order: Int32Array; rank: Int32Array } {
  const order = requests.inOrder();
  const rank = new Int32Array(order.length);
  for (let i = 0; i < order.length; i++) rank[order[i]] = i;
  return { order, rank };
}

/** @returns what should have been known of the parts that were read; null where it was. */
function learnt(gathered: GatheredParts, rank: Int32Array, before: Known): Known | null {
  const { tally, gathering, instrumented, texts } = gathered;
  const { trees, trueRoots } = tally.total();
  const now: Known = {
    originUnixNano: before.originUnixNano,
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
}

function sameKinds(
  names: ReadonlySet<string>,
  a: ReadonlyMap<string, ResourceKind>,
  b: ReadonlyMap<string, ResourceKind>,
): boolean {
  return [...names].every((name) => a.get(name) === b.get(name));
}

interface Read {
  readonly gathered: GatheredParts;
  readonly known: Known;
  readonly firstRow: readonly number[];
  readonly order: Int32Array;
  readonly rank: Int32Array;
}

/** @param others one of them groups the requests while this thread measures the queues */
async function concludeParts(
  input: Input,
  parts: TableParts,
  options: AnalyzeOptions,
  { gathered, known, firstRow, order, rank }: Read,
  others: PartThreads | null,
): Promise<Answer> {
  const { gathering, names, requestsOf } = gathered;
  const requests = gathered.requests.settle(order, gathered.routes.list, {
    outcomes: REQUEST_OUTCOMES,
    substitutes: known.substitutes,
  });
  gathered.requests.forget();
  gathering.settle(rank, Number(requests.originUnixNano - known.originUnixNano));
  const eachPart: EachPart = (visit) => {
    for (let part = 0; part < parts.count; part++) {
      const { forest, classes } = cutUp(parts.load(part), options, names);
      const { first, end } = requestsOf.get(part) ?? { first: 0, end: 0 };
      visit({ forest, classes, firstRow: firstRow[part], requests: rank.slice(first, end) });
    }
  };
  const found: Found = {
    input,
    tally: gathered.tally.total(),
    requests,
    parts: gathered.requests.parts(),
    gathering,
    eachPart,
    spans: lookupOf(parts, firstRow, requests, gathered.requests),
  };
  const groups: Promise<RequestGroups | null>[] = [];
  const measured = measure(found, options, (windows) => {
    if (others !== null) groups.push(others.group({ requests, parts: found.parts, windows }));
  });
  return judge(found, measured, options, (await groups[0]) ?? null);
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
