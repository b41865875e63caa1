import { isInRange, isRoute, outcomeOf, routeOf, type TimeRange } from '../aggregate/requests.ts';
import { segmentsOfTree } from '../classify/segments.ts';
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
  const { table, trees } = forest;
  for (const tree of trees) {
    const route = routeOf(forest, tree);
    const start = startUnixNano(table, tree.root);
    if (!isInRange(start, range) || (wanted !== undefined && !isRoute(route, wanted))) continue;
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
      segmentsNs: Object.fromEntries(segmentsOfTree(forest, partition, classes, tree)),
    })}\n`;
  }
}
