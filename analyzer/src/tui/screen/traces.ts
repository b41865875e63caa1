import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import { count, duration, timeOfDay } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { stacked } from '../draw/stacked.ts';
import { type Column, table, windowOf } from '../draw/table.ts';
import { DIM, type Line } from '../line.ts';
import { segmentText } from '../model/segments.ts';
import { shortId } from '../model/short-id.ts';
import { orderTraces, sortColumns } from '../model/traces.ts';
import { clean, padEnd } from '../width.ts';

const COHORTS = ['', 'median', 'slow 1%'];

/** The list of traces: sortable by duration, start and every segment, narrowed by a filter. */
export function tracesScreen(context: Context): Screenful {
  const { session, frame, columns, rows, theme } = context;
  const { traces } = session;
  const { order, error } = orderTraces(session, frame.filter, frame.sort, frame.reverse);
  const sort = sortColumns(session)[frame.sort % sortColumns(session).length];
  const sorted = sort.name === 'duration' || sort.name === 'start' ? sort.name : segmentText(sort.name);
  const filter = frame.filter === '' ? '' : `   filter ${clean(frame.filter)}`;
  const heading: Line = [
    [
      ` ${count(order.length)} of ${count(traces.count)} traces   sorted by ${sorted}${frame.reverse ? ', reversed' : ''}`,
    ],
    [filter],
    [error ? `   ${error}` : '', { fg: 'warn' }],
  ];
  if (traces.count === 0) {
    return { heading, lines: [[[' This input holds no trace with a root. See 6 Input for what was read.']]] };
  }
  if (order.length === 0) {
    return {
      heading,
      lines: [[[' No trace matches the filter. Press / to change it, Esc to leave it.']]],
      list: { count: 0, page: 1, top: 0 },
    };
  }
  const height = Math.max(1, rows - 1);
  const top = windowOf(frame.selected, frame.top, height, order.length);
  const barCells = Math.max(10, Math.min(120, columns - 70));
  const bySegment = sort.name !== 'duration' && sort.name !== 'start';
  const fields = traceColumns(bySegment ? sorted : null, barCells);
  const longest = Math.max(
    1,
    ...Array.from(order.subarray(top, top + height), (index) => traces.durationNs[index]),
  );
  const lines = table(
    fields,
    Array.from(order.subarray(top, top + height), (index, offset) => {
      const parts = SEGMENTS.map((segment, s) => ({
        color: segment,
        value: traces.segmentNs[s][index],
      })).sort((a, b) => b.value - a.value);
      const outcome = traces.outcomes[traces.outcome[index]];
      const kind = traces.kinds[traces.kind[index]];
      return {
        cells: [
          shortId(traces.traceIds[index]),
          clean(traces.routes[traces.route[index]]) + (kind === 'true' ? '' : ` (${kind})`),
          [outcome, outcome === 'success' ? undefined : { fg: 'bad' as const }] as const,
          timeOfDay(traces.originUnixNano + BigInt(Math.round(traces.startNs[index]))),
          COHORTS[traces.cohort[index]],
          duration(traces.durationNs[index]),
          ...(bySegment ? [duration(sort.values[index])] : []),
          stacked(parts, Math.max(1, Math.round((traces.durationNs[index] / longest) * barCells)), theme),
        ],
        selected: top + offset === frame.selected,
      };
    }),
    columns,
  );
  const chosen = order[Math.min(frame.selected, order.length - 1)];
  return {
    heading,
    aside: [[padEnd(traces.traceIds[chosen], 33), DIM]],
    lines,
    list: { count: order.length, page: height, top },
    copy: traces.traceIds[chosen],
  };
}

/** @returns the columns of the list; `sorted` is the segment it is sorted by, which gets a column of its own. */
export function traceColumns(sorted: string | null, barCells: number): Column[] {
  return [
    { title: 'trace', cells: 8 },
    { title: 'route', cells: 16, flexible: true, most: 70 },
    { title: 'outcome', cells: 8, priority: 1 },
    { title: 'started', cells: 12, priority: 2 },
    { title: 'cohort', cells: 7, priority: 3 },
    { title: 'duration', cells: 9, align: 'right' },
    ...(sorted === null ? [] : [{ title: sorted, cells: 15, align: 'right' } as Column]),
    { title: barCells < 20 ? 'time' : 'where the time went', cells: barCells },
  ];
}
