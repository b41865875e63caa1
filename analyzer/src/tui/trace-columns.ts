import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { outcomeOf, routeOf, sortTrees } from '../aggregate/requests.ts';
import { REQUEST_OUTCOMES } from '../classify/types.ts';
import type { RequestsCutUp } from '../infer/analysis.ts';
import { startUnixNano } from '../model/span-table.ts';
import type { RootKind } from '../tree/types.ts';
import type { TraceColumns } from './session.ts';

const KINDS: readonly RootKind[] = ['true', 'orphan', 'cycle'];

/** The middle tenth around the median is one cohort, the slowest hundredth the other. */
const MEDIAN_FROM = 0.45;
const MEDIAN_TO = 0.55;
const SLOWEST_FROM = 0.99;

/** The list of traces, and how its indexes and those of the trees find each other. */
export interface TraceList {
  readonly traces: TraceColumns;
  /** Index of the tree behind each trace of the list. */
  readonly order: readonly number[];
  readonly indexOfTree: Int32Array;
}

/** Lists the trees by start. The columns lie in shared memory: the screens read what the worker wrote, once for both. */
export function listTraces(cut: RequestsCutUp): TraceList {
  const order = sortTrees(
    cut.forest,
    cut.forest.trees.map((_, index) => index),
  );
  const indexOfTree = new Int32Array(order.length);
  order.forEach((tree, index) => {
    indexOfTree[tree] = index;
  });
  return { traces: columnsOf(cut, order), order, indexOfTree };
}

function columnsOf({ forest, classes, partition }: RequestsCutUp, order: readonly number[]): TraceColumns {
  const { table } = forest;
  const n = order.length;
  const routes = interner();
  const services = interner();
  const shared = (bytesEach: number): SharedArrayBuffer => new SharedArrayBuffer(n * bytesEach);
  const columns = {
    route: new Int32Array(shared(4)),
    service: new Int32Array(shared(4)),
    startNs: new Float64Array(shared(8)),
    durationNs: new Float64Array(shared(8)),
    outcome: new Uint8Array(shared(1)),
    kind: new Uint8Array(shared(1)),
    cohort: new Uint8Array(shared(1)),
    segmentNs: segmentColumns(classes.segment, n),
    traceIds: new Array<string>(n),
  };
  const origin = n === 0 ? 0n : startUnixNano(table, forest.trees[order[0]].root);
  order.forEach((treeIndex, index) => {
    const tree = forest.trees[treeIndex];
    columns.traceIds[index] = table.traceIds[table.trace[tree.root]];
    columns.route[index] = routes.id(routeOf(forest, tree));
    columns.service[index] = services.id(table.resources[table.resource[tree.root]]?.service ?? '');
    columns.startNs[index] = Number(startUnixNano(table, tree.root) - origin);
    columns.durationNs[index] = forest.end[tree.root] - forest.start[tree.root];
    columns.outcome[index] = REQUEST_OUTCOMES.indexOf(outcomeOf(forest, classes, tree));
    columns.kind[index] = KINDS.indexOf(tree.kind);
    for (let i = tree.first; i < tree.first + tree.count; i++) {
      const row = forest.order[i];
      columns.segmentNs[classes.segment[row]][index] += partition.owned[row];
    }
  });
  markCohorts(columns.durationNs, columns.cohort);
  return {
    ...columns,
    count: n,
    routes: routes.names,
    services: services.names,
    originUnixNano: origin,
    outcomes: REQUEST_OUTCOMES,
    kinds: KINDS,
  };
}

/** A column for each segment that any span has; the others share one of zeros. */
function segmentColumns(segments: ArrayLike<number>, n: number): Float64Array[] {
  const used = new Set<number>();
  for (let row = 0; row < segments.length; row++) used.add(segments[row]);
  const column = (): Float64Array => new Float64Array(new SharedArrayBuffer(n * 8));
  const zeros = column();
  return SEGMENTS.map((_, segment) => (used.has(segment) ? column() : zeros));
}

function markCohorts(durationNs: Float64Array, cohort: Uint8Array): void {
  const n = durationNs.length;
  const ranked = Uint32Array.from(durationNs.keys()).sort((a, b) => durationNs[a] - durationNs[b] || a - b);
  ranked.forEach((index, rank) => {
    const at = (rank + 0.5) / n;
    if (at >= SLOWEST_FROM || rank === n - 1) cohort[index] = 2;
    else if (at >= MEDIAN_FROM && at < MEDIAN_TO) cohort[index] = 1;
  });
}

function interner(): { names: string[]; id: (name: string) => number } {
  const names: string[] = [];
  const ids = new Map<string, number>();
  return {
    names,
    id: (name) => {
      let id = ids.get(name);
      if (id === undefined) {
        id = names.length;
        names.push(name);
        ids.set(name, id);
      }
      return id;
    },
  };
}
