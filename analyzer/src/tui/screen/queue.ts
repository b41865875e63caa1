import { duration, number, percent, rate } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { sparkline } from '../draw/spark.ts';
import { DIM, type Line } from '../line.ts';
import { lossSentence } from '../model/queue-text.ts';
import { listQueues } from '../model/queues.ts';
import { clean, padEnd } from '../width.ts';
import { queueDetail } from './queue-detail.ts';

/** One queue: its hold, its windows, and every long wait to step into. */
export function queueScreen(context: Context): Screenful {
  const { session, state, frame, rows, data, columns } = context;
  const queue = listQueues(session, state, 0, false).find(({ row }) => row.resource === frame.resource);
  if (!queue)
    return { heading: [[' Queues']], lines: [[[` ${clean(frame.resource)} is not in this input.`]]] };
  const { row } = queue;
  const series = (title: string, values: readonly (number | null)[], max: number, most: string): Line => [
    [`   ${padEnd(title, 12)}`, DIM],
    [sparkline(values, Math.min(values.length, columns - 40), max || 1)],
    [`   at most ${most}`, DIM],
  ];
  const largest = (values: readonly (number | null)[]): number =>
    Math.max(0, ...values.map((value) => value ?? 0));
  const used = row.windows.map((window) => window.utilization);
  const waits = row.windows.map((window) => window.meanWaitNs);
  const depth = row.windows.map((window) => window.meanQueueDepth);
  const head: Line[] = [
    series('used', used, 1, percent(largest(used))),
    series('mean wait', waits, largest(waits), duration(largest(waits))),
    series('queue', depth, largest(depth), `${number(largest(depth))} waiting`),
  ];
  const lost = lossSentence(queue);
  if (lost)
    head.push([
      ['   lost        ', DIM],
      [lost, { fg: 'bad' }],
    ]);
  const detail = queueDetail(context, queue, rows - head.length, frame.selected, frame.top);
  const count = data.waits(row.resource)?.examples.length ?? 0;
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
    lines: [...head, ...detail.lines],
    list: { count, page: detail.page, top: frame.top },
    copy: row.resource,
  };
}
