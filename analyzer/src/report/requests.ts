import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { isInRange, isRoute, outcomeOf, routeOf, sortTrees, type TimeRange } from '../aggregate/requests.ts';
import type { Analysis } from '../infer/analysis.ts';
import { spanIdText, startUnixNano } from '../model/span-table.ts';
import { toJson } from './json.ts';

const STATUS_NAMES = ['unset', 'ok', 'error'];

/**
 * One JSON line a tree (orphan and cycle trees too), by start: what `--format requests` prints.
 *
 * `status` is the span status of the root; the values of `segmentsNs` are what each segment owns and sum to
 * `durationNs`, segments without time are left out.
 */
export function* requestLines(
  { forest, partition, classes }: Pick<Analysis, 'forest' | 'partition' | 'classes'>,
  { route: wanted, ...range }: TimeRange & { readonly route?: string } = {},
): Generator<string> {
  const { table, trees, order } = forest;
  const owned = new Float64Array(SEGMENTS.length);
  for (const t of sortTrees(
    forest,
    trees.map((_, i) => i),
  )) {
    const tree = trees[t];
    const route = routeOf(forest, tree);
    const start = startUnixNano(table, tree.root);
    if (!isInRange(start, range) || (wanted !== undefined && !isRoute(route, wanted))) continue;
    owned.fill(0);
    for (let i = tree.first; i < tree.first + tree.count; i++) {
      owned[classes.segment[order[i]]] += partition.owned[order[i]];
    }
    const segmentsNs: Record<string, number> = {};
    for (let s = 0; s < SEGMENTS.length; s++) if (owned[s] > 0) segmentsNs[SEGMENTS[s]] = owned[s];
    yield `${toJson({
      traceId: table.traceIds[table.trace[tree.root]],
      rootSpanId: spanIdText(table, tree.root),
      root: tree.kind,
      service: table.resources[table.resource[tree.root]].service,
      route,
      startUnixNano: start,
      durationNs: forest.end[tree.root] - forest.start[tree.root],
      status: STATUS_NAMES[table.status[tree.root]] ?? 'unset',
      outcome: outcomeOf(forest, classes, tree),
      segmentsNs,
    })}\n`;
  }
}
