import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { requestGroup } from '../aggregate/groups.ts';
import { outcomeOf, routeOf, sortTrees } from '../aggregate/requests.ts';
import { splitRequests } from '../aggregate/split.ts';
import { REQUEST_OUTCOMES } from '../classify/types.ts';
import { type Analysis, type AnalyzeOptions, analyze } from '../infer/analysis.ts';
import { startUnixNano } from '../model/span-table.ts';
import type { Report } from '../report/types.ts';
import type { RootKind } from '../tree/types.ts';
import { openTrace, spanDetail } from './open-trace.ts';
import type { ComparedWith, Session, TraceColumns } from './session.ts';
import { waitsOf } from './waits.ts';

const KINDS: readonly RootKind[] = ['true', 'orphan', 'cycle'];

/** Answers the screens from an analysis in the same process (in production: inside the analysis worker). */
export function buildSession(
  analysis: Analysis,
  report: Report,
  title: string,
  options: AnalyzeOptions,
  comparison?: ComparedWith,
): Session {
  const order = sortTrees(
    analysis.forest,
    analysis.forest.trees.map((_, index) => index),
  );
  const traces = traceColumns(analysis, order);
  const indexOfTree = new Int32Array(order.length);
  order.forEach((tree, index) => {
    indexOfTree[tree] = index;
  });
  return {
    title,
    report,
    traces,
    ...(comparison ? { comparison } : {}),
    trace: async (index) => openTrace(analysis, traces, order[index], index, indexOfTree),
    span: async (row) => spanDetail(analysis, row),
    waits: async (resource, limit) => waitsOf(analysis, resource, limit, indexOfTree),
    whatIf: async (change) => {
      const { verdict } = analyze(analysis.input, { ...options, whatIf: [change] });
      const answer = verdict.whatIf.find((known) => known.change === change) ?? verdict.whatIf[0];
      if (!answer) throw new Error(`no prediction for ${change}: nothing is known about that queue`);
      return answer;
    },
    step: async (window) => {
      const { requests, parts } = analysis;
      const members = Int32Array.from(requests.window.keys()).filter((i) => requests.window[i] === window);
      return requestGroup(requests, parts, members);
    },
    split: async (attribute) => {
      const { forest, requests, parts } = analysis;
      const members = Int32Array.from({ length: requests.count }, (_, index) => index);
      return splitRequests(forest, requests, members, attribute).map((part) => ({
        value: part.value ?? '(none)',
        group: requestGroup(requests, parts, part.members),
      }));
    },
  };
}

/** The middle tenth around the median is one cohort, the slowest hundredth the other. */
const MEDIAN_FROM = 0.45;
const MEDIAN_TO = 0.55;
const SLOWEST_FROM = 0.99;

function traceColumns(analysis: Analysis, order: readonly number[]): TraceColumns {
  const { forest, classes, partition } = analysis;
  const { table } = forest;
  const n = order.length;
  const routes = interner();
  const services = interner();
  const columns = {
    route: new Int32Array(n),
    service: new Int32Array(n),
    startNs: new Float64Array(n),
    durationNs: new Float64Array(n),
    outcome: new Uint8Array(n),
    kind: new Uint8Array(n),
    cohort: new Uint8Array(n),
    segmentNs: SEGMENTS.map(() => new Float64Array(n)),
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
  const ranked = Uint32Array.from(order.keys()).sort(
    (a, b) => columns.durationNs[a] - columns.durationNs[b] || a - b,
  );
  ranked.forEach((index, rank) => {
    const at = (rank + 0.5) / n;
    if (at >= SLOWEST_FROM || rank === n - 1) columns.cohort[index] = 2;
    else if (at >= MEDIAN_FROM && at < MEDIAN_TO) columns.cohort[index] = 1;
  });
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
