import type { RequestGroup } from '../../aggregate/types.ts';
import { REQUEST_OUTCOMES } from '../../classify/types.ts';
import { count, duration, percent, rate } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { stacked } from '../draw/stacked.ts';
import { type Column, table, windowOf } from '../draw/table.ts';
import { choose } from '../draw/text.ts';
import { DIM, type Line } from '../line.ts';
import { listRoutes, loadSeconds, ROUTE_SORTS, resourceColumns } from '../model/routes.ts';
import { bySegment, partsOf, partText } from '../model/segments.ts';
import { isOn } from '../state.ts';
import { LETTERS } from '../theme.ts';
import { clean, padStart, width } from '../width.ts';

export const ROUTE_COLUMNS: readonly Column[] = [
  { title: 'route', cells: 18, flexible: true, most: 70 },
  { title: 'requests', cells: 8, align: 'right' },
  { title: 'rate', cells: 7, align: 'right', priority: 4 },
  { title: 'failed', cells: 7, align: 'right' },
  { title: 'p50', cells: 8, align: 'right' },
  { title: 'p90', cells: 8, align: 'right', priority: 2 },
  { title: 'p99', cells: 8, align: 'right' },
  { title: 'p99.9', cells: 8, align: 'right', priority: 3 },
  { title: 'good p50', cells: 8, align: 'right', priority: 5 },
  { title: 'good p99', cells: 8, align: 'right', priority: 1 },
  { title: 'good p99.9', cells: 10, align: 'right', priority: 6 },
];

/** The RED view: rate, errors and duration of every route, or of every value of an attribute. */
export function routesScreen(context: Context): Screenful {
  const { session, frame, columns, rows, data } = context;
  const loading = frame.by !== '' && data.split(frame.by) === undefined;
  const groups = listRoutes(session, data, frame);
  const what = frame.by === '' ? 'routes' : `values of ${frame.by}`;
  const heading: Line = [
    [` ${count(groups.length)} ${clean(what)}   sorted by ${ROUTE_SORTS[frame.sort % ROUTE_SORTS.length]}`],
  ];
  if (loading) return { heading, lines: [[[' splitting the requests …', DIM]]] };
  if (groups.length === 0)
    return {
      heading,
      lines: [
        [
          [
            frame.by === ''
              ? ' No requests: this input has no trace with a root.'
              : ` No request carries ${clean(frame.by)}. Esc goes back to routes.`,
          ],
        ],
      ],
    };
  const chosen = groups[Math.min(frame.selected, groups.length - 1)];
  const detail = detailLines(context, chosen.group);
  const height = Math.max(3, Math.min(groups.length, rows - Math.min(detail.length, 12) - 2));
  const top = windowOf(frame.selected, frame.top, height, groups.length);
  const shown = groups.slice(top, top + height);
  const seconds = loadSeconds(session);
  const lines = isOn(frame, 'matrix')
    ? matrixLines(context, shown, top)
    : table(
        ROUTE_COLUMNS,
        shown.map(({ name, group }, index) => ({
          cells: cellsOf(name, group, seconds),
          selected: top + index === frame.selected,
        })),
        columns,
      );
  return {
    heading,
    aside: [['good: successes only ', DIM]],
    lines: [...lines, [['─'.repeat(columns), DIM]], ...detail],
    list: { count: groups.length, page: height, top },
    copy: chosen.name,
  };
}

function failed({ byOutcome }: RequestGroup): number {
  return REQUEST_OUTCOMES.reduce((sum, name) => (name === 'success' ? sum : sum + byOutcome[name]), 0);
}

function cellsOf(name: string, group: RequestGroup, seconds: number) {
  const bad = failed(group);
  return [
    clean(name),
    count(group.count),
    rate(seconds > 0 ? group.count / seconds : null),
    bad > 0 ? ([count(bad), { fg: 'bad' }] as const) : '0',
    duration(group.latencyNs.p50),
    duration(group.latencyNs.p90),
    duration(group.latencyNs.p99),
    duration(group.latencyNs.p999),
    duration(group.goodLatencyNs.p50),
    duration(group.goodLatencyNs.p99),
    duration(group.goodLatencyNs.p999),
  ];
}

/** Mean time a request of each route spends on each resource: which route loads which queue. */
function matrixLines(
  { session, columns, frame }: Context,
  groups: readonly { name: string; group: RequestGroup }[],
  top: number,
): Line[] {
  const resources = resourceColumns(session, Math.max(1, Math.floor((columns - 24) / 13)));
  const fields: Column[] = [
    { title: 'mean per request', cells: 20, flexible: true, most: 70 },
    ...resources.map((name): Column => ({ title: name, cells: 12, align: 'right' })),
  ];
  return table(
    fields,
    groups.map(({ name, group }, index) => ({
      cells: [
        clean(name),
        ...resources.map((resource) => {
          const ns = group.segments.reduce(
            (sum, row) => (row.resource === resource ? sum + row.meanNs : sum),
            0,
          );
          return ns === 0 ? '·' : duration(ns);
        }),
      ],
      selected: top + index === frame.selected,
    })),
    columns,
  );
}

function detailLines({ columns, theme }: Context, group: RequestGroup): Line[] {
  const lines: Line[] = [];
  const outcomes = REQUEST_OUTCOMES.filter((name) => group.byOutcome[name] > 0).map(
    (name) => `${count(group.byOutcome[name])} ${name}`,
  );
  const counts = ` ${outcomes.join(' · ')}`;
  const covered = `   ${percent(group.coverage)} of the time accounted for`;
  const parallel = ` · ${percent(group.parallelShare)} in parallel`;
  lines.push([[counts], [choose([covered + parallel, covered, ''], columns - width(counts)), DIM]]);
  const parts = partsOf(group.segments);
  lines.push([
    [' '],
    ...stacked(
      bySegment(parts).map((part) => ({ color: part.segment, value: part.meanNs })),
      columns - 2,
      theme,
    ),
  ]);
  const total = parts.reduce((sum, part) => sum + part.meanNs, 0);
  for (const part of parts.slice(0, 8)) {
    lines.push([
      [' '],
      [theme.depth ? '█' : LETTERS[part.segment], { fg: part.segment }],
      [
        ` ${padStart(duration(part.meanNs), 9)} ${padStart(percent(part.meanNs / (total || 1)), 6)}  ${clean(partText(part))}`,
      ],
    ]);
  }
  return lines;
}
