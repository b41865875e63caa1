import { rate } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { sparkline } from '../draw/spark.ts';
import { type Column, table } from '../draw/table.ts';
import { DIM, type Line } from '../line.ts';
import { listQueues } from '../model/queues.ts';
import { clean, padEnd } from '../width.ts';
import { queueDetail } from './queues.ts';

/** One queue: its hold, its windows, and every long wait to step into. */
export function queueScreen(context: Context): Screenful {
  const { session, state, frame, rows, data, columns } = context;
  const queue = listQueues(session, state, 0, false).find(({ row }) => row.resource === frame.resource);
  if (!queue)
    return { heading: [[' Queues']], lines: [[[` ${clean(frame.resource)} is not in this input.`]]] };
  const { row } = queue;
  const series = (title: string, values: readonly (number | null)[], max: number): Line => [
    [`   ${padEnd(title, 12)}`, DIM],
    [sparkline(values, Math.min(values.length, columns - 30), max || 1)],
  ];
  const largest = (values: readonly (number | null)[]): number =>
    Math.max(0, ...values.map((value) => value ?? 0));
  const waits = row.windows.map((window) => window.meanWaitNs);
  const depth = row.windows.map((window) => window.meanQueueDepth);
  const head: Line[] = [
    series(
      'used',
      row.windows.map((window) => window.utilization),
      1,
    ),
    series('wait', waits, largest(waits)),
    series('queue', depth, largest(depth)),
    ...lossLines(context, row.resource),
  ];
  const lines = [...head, ...queueDetail(context, queue, rows - head.length, frame.selected, frame.top)];
  const count = data.waits(row.resource)?.length ?? 0;
  const page = Math.max(1, rows - head.length - 5);
  return {
    heading: [
      [` Queues › ${clean(row.resource)}`],
      [
        row.saturatesAtPerSecond === null
          ? ''
          : `  fills at ${rate(row.saturatesAtPerSecond)} by its own work`,
        DIM,
      ],
    ],
    lines,
    list: { count, page, top: frame.top },
    copy: row.resource,
  };
}

const LOSSES: readonly Column[] = [
  { title: 'rejected', cells: 9, align: 'right' },
  { title: 'timed out', cells: 9, align: 'right' },
];

function lossLines({ session, columns }: Context, resource: string): Line[] {
  const row = session.report.resources.find((other) => other.resource === resource);
  const rejected = row?.windows.reduce((sum, window) => sum + window.rejected, 0) ?? 0;
  const timedOut = row?.windows.reduce((sum, window) => sum + window.timedOut, 0) ?? 0;
  if (rejected + timedOut === 0) return [];
  return table(LOSSES, [{ cells: [String(rejected), String(timedOut)] }], columns);
}
