import { ATTR_OUTCOME, ATTR_SEGMENT, OUTCOMES } from '@waitfall/instrumentation/conventions';
import { type Classes, REQUEST_OUTCOMES, type RequestOutcome } from '../classify/types.ts';
import type { AttributeValue } from '../model/attributes.ts';
import { KIND, STATUS } from '../model/span.ts';
import { attribute, type SpanTable, spanIdText, startUnixNano } from '../model/span-table.ts';
import type { Forest, Tree } from '../tree/types.ts';

/**
 * What is known of every tree as a request. Arrays are by tree of the forest.
 *
 * A request is a tree with a true root; where an input has none at all, every tree stands in for one.
 */
export interface Requests {
  readonly forest: Forest;
  /** Trees that count as requests, by start, then trace id, then root span id: the same in any input order. */
  readonly trees: Int32Array;
  /** True where no tree has a true root and orphan or cycle trees stand in. */
  readonly substituted: boolean;
  readonly durationNs: Float64Array;
  /** Index into REQUEST_OUTCOMES. */
  readonly outcome: Uint8Array;
  /** Index into `routes`. */
  readonly route: Uint32Array;
  readonly routes: readonly string[];
}

/** Limits a report to a part of the requests. */
export interface Selection {
  /** Whole route name, or its path alone: `/signup` selects `POST /signup`. */
  readonly route?: string;
  /** Requests that start at or after this time, epoch ns. */
  readonly fromUnixNano?: bigint;
  /** Requests that start before this time, epoch ns. */
  readonly toUnixNano?: bigint;
}

/** Reads route, duration and outcome of every tree, and says which trees count as requests. */
export function collectRequests(forest: Forest, classes: Classes, selection: Selection = {}): Requests {
  const { trees, table } = forest;
  const durationNs = new Float64Array(trees.length);
  const outcome = new Uint8Array(trees.length);
  const route = new Uint32Array(trees.length);
  const routes: string[] = [];
  const routeIds = new Map<string, number>();
  for (let t = 0; t < trees.length; t++) {
    const tree = trees[t];
    durationNs[t] = forest.end[tree.root] - forest.start[tree.root];
    outcome[t] = REQUEST_OUTCOMES.indexOf(outcomeOf(forest, classes, tree));
    const name = routeOf(forest, tree);
    let id = routeIds.get(name);
    if (id === undefined) {
      id = routes.length;
      routes.push(name);
      routeIds.set(name, id);
    }
    route[t] = id;
  }
  const substituted = trees.length > 0 && !trees.some((tree) => tree.kind === 'true');
  const chosen: number[] = [];
  for (let t = 0; t < trees.length; t++) {
    if (!substituted && trees[t].kind !== 'true') continue;
    if (isSelected(table, trees[t].root, routes[route[t]], selection)) chosen.push(t);
  }
  return {
    forest,
    trees: Int32Array.from(sortTrees(forest, chosen)),
    substituted,
    durationNs,
    outcome,
    route,
    routes,
  };
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
 * What a request is called in tables: method and route template where the root has them, else those of the server
 * span right below a client root (a load generator's span is named after the method only), else the root's name.
 */
export function routeOf(forest: Forest, tree: Tree): string {
  const { table } = forest;
  const own = templateOf(table, tree.root);
  if (own !== null) return own;
  if (table.kind[tree.root] === KIND.client) {
    for (let i = tree.first + 1; i < tree.first + tree.count; i++) {
      const row = forest.order[i];
      if (table.kind[row] !== KIND.server || forest.parent[row] !== tree.root) continue;
      const served = templateOf(table, row);
      if (served !== null) return served;
    }
  }
  return table.strings.text(table.name[tree.root]) || '(no name)';
}

/**
 * How a request ended. First match wins:
 * 1. `waitfall.outcome` on a root that is not itself a wait;
 * 2. the root did not fail and no wait on it was aborted: success;
 * 3. the wait that failed last and was not `acquired` says why (a retry that worked is no failure: rule 2);
 * 4. the HTTP status of the root: 429 and 503 rejected, 408 and 504 timeout, 499 aborted;
 * 5. `error.type` of the root, where it speaks of a timeout or an abort;
 * 6. error.
 *
 * A root failed when its status is ERROR or its HTTP status is 5xx, 408, 429 or 499.
 */
export function outcomeOf(forest: Forest, classes: Classes, tree: Tree): RequestOutcome {
  const { table } = forest;
  const root = tree.root;
  const stated = attribute(table, root, ATTR_OUTCOME);
  if (stated !== undefined && attribute(table, root, ATTR_SEGMENT) === undefined) {
    if (stated === 'acquired' || stated === 'success') return 'success';
    const known = REQUEST_OUTCOMES.find((name) => name === stated);
    if (known) return known;
  }
  const http = httpStatus(table, root);
  const failed = table.status[root] === STATUS.error || (http !== null && isFailure(http));
  const wait = lastFailedWait(forest, classes, tree);
  if (!failed) return wait === 'aborted' && http === null ? 'aborted' : 'success';
  if (wait !== null) return wait;
  if (http === 429 || http === 503) return 'rejected';
  if (http === 408 || http === 504) return 'timeout';
  if (http === 499) return 'aborted';
  const type = String(attribute(table, root, 'error.type') ?? '');
  if (/time[d_ ]?-?out|deadline/i.test(type)) return 'timeout';
  if (/abort|cancel/i.test(type)) return 'aborted';
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

function isSelected(table: SpanTable, root: number, route: string, selection: Selection): boolean {
  if (selection.route !== undefined && route !== selection.route && pathOf(route) !== selection.route) {
    return false;
  }
  if (selection.fromUnixNano === undefined && selection.toUnixNano === undefined) return true;
  const start = startUnixNano(table, root);
  if (selection.fromUnixNano !== undefined && start < selection.fromUnixNano) return false;
  return selection.toUnixNano === undefined || start < selection.toUnixNano;
}

/** `POST /signup` for a span with `http.route`; null without one. Old and new attribute names are both read. */
function templateOf(table: SpanTable, row: number): string | null {
  const template = attribute(table, row, 'http.route');
  if (typeof template !== 'string' || template === '') return null;
  const method = attribute(table, row, 'http.request.method') ?? attribute(table, row, 'http.method');
  return typeof method === 'string' && method !== '' ? `${method} ${template}` : template;
}

function httpStatus(table: SpanTable, row: number): number | null {
  const value: AttributeValue | undefined =
    attribute(table, row, 'http.response.status_code') ?? attribute(table, row, 'http.status_code');
  const code = typeof value === 'string' || typeof value === 'bigint' ? Number(value) : value;
  return typeof code === 'number' && Number.isInteger(code) ? code : null;
}

function isFailure(http: number): boolean {
  return http >= 500 || http === 408 || http === 429 || http === 499;
}

function pathOf(route: string): string {
  return route.slice(route.indexOf(' ') + 1);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
