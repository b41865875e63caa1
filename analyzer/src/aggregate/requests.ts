import { ATTR_OUTCOME, ATTR_SEGMENT, OUTCOMES } from '@waitfall/instrumentation/conventions';
import { type Classes, REQUEST_OUTCOMES, type RequestOutcome } from '../classify/types.ts';
import { AttributeReader } from '../model/attribute-reader.ts';
import { Names } from '../model/names.ts';
import { KIND, STATUS } from '../model/span.ts';
import { compareSpanIds, type SpanTable, spanIdText, startUnixNano } from '../model/span-table.ts';
import type { Forest, Tree } from '../tree/types.ts';
import type { Requests } from './requests-types.ts';
import { ATTR_TAIL_POLICY, weightFromTraceState } from './weights.ts';

/** Limits an analysis to requests whose root starts in [from, to), epoch ns. */
export interface TimeRange {
  readonly fromUnixNano?: bigint;
  readonly toUnixNano?: bigint;
}

/** What has to be the same for all parts of an input whose requests are read part by part. */
export interface PartOfRequests {
  /** No tree of the whole input has a true root. */
  readonly substitutes: boolean;
  readonly originUnixNano: bigint;
  readonly routes: Names;
}

/**
 * Reads route, duration and outcome of every request, ordered by root start (ties: trace id, then root span id, so
 * that nothing depends on the order of the input). Weights come from `tracestate ot=th:`, else 1; windows are
 * assigned later.
 */
export function collectRequests(
  forest: Forest,
  classes: Classes,
  range: TimeRange = {},
  inParts: PartOfRequests | null = null,
): Requests {
  const { trees, table } = forest;
  const substitutes =
    inParts?.substitutes ?? (trees.length > 0 && !trees.some((tree) => tree.kind === 'true'));
  const chosen: number[] = [];
  for (let t = 0; t < trees.length; t++) {
    if (!substitutes && trees[t].kind !== 'true') continue;
    if (isInRange(startUnixNano(table, trees[t].root), range)) chosen.push(t);
  }
  sortTrees(forest, chosen);
  const count = chosen.length;
  const originUnixNano =
    inParts?.originUnixNano ?? (count === 0 ? 0n : startUnixNano(table, trees[chosen[0]].root));
  const routes = inParts?.routes ?? new Names();
  const requests = {
    count,
    originUnixNano,
    tree: Int32Array.from(chosen),
    startNs: new Float64Array(count),
    durationNs: new Float64Array(count),
    outcome: new Uint8Array(count),
    route: new Int32Array(count),
    routes: routes.list,
    weight: new Float64Array(count),
    chosenWithoutWeight: 0,
    window: new Int32Array(count).fill(-1),
    outcomes: REQUEST_OUTCOMES,
    substitutes,
  };
  const readers = requestReaders(table);
  const originSec = Number(originUnixNano / NS);
  const originNs = Number(originUnixNano % NS);
  for (let i = 0; i < count; i++) {
    const tree = trees[chosen[i]];
    requests.route[i] = routes.of(routeOf(forest, tree));
    requests.startNs[i] = (table.startSec[tree.root] - originSec) * 1e9 + table.startNs[tree.root] - originNs;
    requests.durationNs[i] = forest.end[tree.root] - forest.start[tree.root];
    requests.outcome[i] = REQUEST_OUTCOMES.indexOf(outcomeOf(forest, classes, tree));
    const weight = weightOf(forest, tree, readers);
    if (weight === null && readers.tailPolicy.has(tree.root)) requests.chosenWithoutWeight++;
    requests.weight[i] = weight ?? 1;
  }
  return requests;
}

/** Readers of what roots say about their request. */
interface RequestReaders {
  readonly outcome: AttributeReader;
  readonly segment: AttributeReader;
  readonly tailPolicy: AttributeReader;
  readonly errorType: AttributeReader;
  readonly route: AttributeReader;
  /** New and old name. */
  readonly method: readonly [AttributeReader, AttributeReader];
  readonly status: readonly [AttributeReader, AttributeReader];
}

const readersOf = new WeakMap<SpanTable, RequestReaders>();

/** @returns the readers of a table, made once. */
function requestReaders(table: SpanTable): RequestReaders {
  let readers = readersOf.get(table);
  if (readers === undefined) readersOf.set(table, (readers = newReaders(table)));
  return readers;
}

function newReaders(table: SpanTable): RequestReaders {
  const reader = (key: string) => new AttributeReader(table, key);
  return {
    outcome: reader(ATTR_OUTCOME),
    segment: reader(ATTR_SEGMENT),
    tailPolicy: reader(ATTR_TAIL_POLICY),
    errorType: reader('error.type'),
    route: reader('http.route'),
    method: [reader('http.request.method'), reader('http.method')],
    status: [reader('http.response.status_code'), reader('http.status_code')],
  };
}

/** Weight stated on the root, else on any span below it: a root that came after the decision is kept without one. */
function weightOf(forest: Forest, tree: Tree, { tailPolicy }: RequestReaders): number | null {
  const { table } = forest;
  const stated = (row: number) =>
    table.traceState[row] === 0 ? null : weightFromTraceState(table.strings.text(table.traceState[row]));
  const own = stated(tree.root);
  if (own !== null || !tailPolicy.has(tree.root)) return own;
  for (let i = tree.first + 1; i < tree.first + tree.count; i++) {
    const below = stated(forest.order[i]);
    if (below !== null) return below;
  }
  return null;
}

/** True when a route is the wanted one: by its whole name, or by its path alone (`/signup` is `POST /signup`). */
export function isRoute(route: string, wanted: string): boolean {
  return route === wanted || route.slice(route.indexOf(' ') + 1) === wanted;
}

/** Orders trees by start, then trace id, then root span id, whatever order the input had. */
export function sortTrees(forest: Forest, trees: number[]): number[] {
  const { table } = forest;
  return trees.sort((a, b) => {
    const x = forest.trees[a].root;
    const y = forest.trees[b].root;
    return (
      table.startSec[x] - table.startSec[y] ||
      table.startNs[x] - table.startNs[y] ||
      compareText(table.traceIds[table.trace[x]], table.traceIds[table.trace[y]]) ||
      compareText(spanIdText(table, x), spanIdText(table, y))
    );
  });
}

/**
 * The span at which the service took over: the server span right below a client root (a load generator's), else the
 * root itself.
 */
export function entryOf(forest: Forest, tree: Tree): number {
  const { table } = forest;
  if (table.kind[tree.root] !== KIND.client) return tree.root;
  let entry = tree.root;
  for (let i = tree.first + 1; i < tree.first + tree.count; i++) {
    const row = forest.order[i];
    if (table.kind[row] !== KIND.server || forest.parent[row] !== tree.root) continue;
    if (entry === tree.root || compareSpanIds(table, row, entry) < 0) entry = row;
  }
  return entry;
}

/**
 * What a request is called in tables: method and route template where the root has them, else those of the span at
 * which the service took over (a load generator's span is named after the method only), else the root's name.
 */
export function routeOf(forest: Forest, tree: Tree): string {
  const { table } = forest;
  const readers = requestReaders(table);
  return (
    templateOf(readers, tree.root) ??
    templateOf(readers, entryOf(forest, tree)) ??
    (table.strings.text(table.name[tree.root]) || '(no name)')
  );
}

/**
 * How a request ended. First match wins:
 * 1. `waitfall.outcome` on a root that is not itself a wait;
 * 2. the root did not fail, its `error.type` does not say that the client left, and no wait on it was aborted: success;
 * 3. the wait that failed last and was not `acquired` says why (a retry that worked is no failure: rule 2);
 * 4. the HTTP status of the root: 429 and 503 rejected, 408 and 504 timeout, 499 aborted;
 * 5. `error.type` of the root, where it speaks of a timeout or an abort;
 * 6. error.
 *
 * A root failed when its status is ERROR or its HTTP status is 5xx, 408, 429 or 499.
 */
export function outcomeOf(forest: Forest, classes: Classes, tree: Tree): RequestOutcome {
  const { table } = forest;
  const readers = requestReaders(table);
  const root = tree.root;
  const stated = readers.outcome.value(root);
  if (stated !== undefined && !readers.segment.has(root)) {
    if (stated === 'acquired' || stated === 'success') return 'success';
    const known = REQUEST_OUTCOMES.find((name) => name === stated);
    if (known) return known;
  }
  const http = httpStatus(readers, root);
  const failed = table.status[root] === STATUS.error || (http !== null && isFailure(http));
  const type = String(readers.errorType.value(root) ?? '');
  const left = /client_closed|abort|cancel/i.test(type);
  const wait = lastFailedWait(forest, classes, tree);
  if (!failed) return left || (wait === 'aborted' && http === null) ? 'aborted' : 'success';
  if (wait !== null) return wait;
  if (http === 429 || http === 503) return 'rejected';
  if (http === 408 || http === 504) return 'timeout';
  if (http === 499) return 'aborted';
  if (/time[d_ ]?-?out|deadline/i.test(type)) return 'timeout';
  if (left) return 'aborted';
  return 'error';
}

function lastFailedWait(forest: Forest, classes: Classes, tree: Tree): RequestOutcome | null {
  let best = -1;
  for (let i = tree.first; i < tree.first + tree.count; i++) {
    const row = forest.order[i];
    if (classes.waitOutcome[row] === 0) continue;
    if (OUTCOMES[classes.waitOutcome[row] - 1] === 'acquired') continue;
    const later = best < 0 || forest.end[row] > forest.end[best];
    const tied = best >= 0 && forest.end[row] === forest.end[best];
    if (later || (tied && spanIdText(forest.table, row) < spanIdText(forest.table, best))) best = row;
  }
  return best < 0 ? null : (OUTCOMES[classes.waitOutcome[best] - 1] as RequestOutcome);
}

/** True when a root that starts here is in the range. */
export function isInRange(start: bigint, { fromUnixNano, toUnixNano }: TimeRange): boolean {
  return (
    (fromUnixNano === undefined || start >= fromUnixNano) && (toUnixNano === undefined || start < toUnixNano)
  );
}

/** `POST /signup` for a span with `http.route`; null without one. Old and new attribute names are both read. */
function templateOf(readers: RequestReaders, row: number): string | null {
  const template = readers.route.text(row);
  if (template === '') return null;
  const method = readers.method[0].value(row) ?? readers.method[1].value(row);
  return typeof method === 'string' && method !== '' ? `${method} ${template}` : template;
}

function httpStatus({ status }: RequestReaders, row: number): number | null {
  const value = status[0].value(row) ?? status[1].value(row);
  const code = typeof value === 'string' || typeof value === 'bigint' ? Number(value) : value;
  return typeof code === 'number' && Number.isInteger(code) ? code : null;
}

function isFailure(http: number): boolean {
  return http >= 500 || http === 408 || http === 429 || http === 499;
}

const NS = 1_000_000_000n;

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
