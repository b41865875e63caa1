import { count, duration, number, percent, rate } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { sparkline } from '../draw/spark.ts';
import { type Column, table, windowOf } from '../draw/table.ts';
import { choose } from '../draw/text.ts';
import { DIM, type Line } from '../line.ts';
import { headroomOf } from '../model/headroom.ts';
import { capacityText, listQueues, loadColor, QUEUE_SORTS, type Queue } from '../model/queues.ts';
import { clean } from '../width.ts';
import { queueDetail } from './queue-detail.ts';

/** The USE view: utilisation, saturation and errors of every queue. */
export function queuesScreen(context: Context): Screenful {
  const { session, state, frame, columns, rows } = context;
  const queues = listQueues(session, state, frame.sort, frame.reverse);
  const window = session.report.windows[state.step];
  const step =
    window && session.report.requests.count > 1
      ? ` at step ${state.step + 1} of ${session.report.windows.length} (${rate(window.receivedPerSecond)})`
      : '';
  const heading: Line = [
    [
      ` ${count(queues.length)} ${queues.length === 1 ? 'queue' : 'queues'}${step}   sorted by ${QUEUE_SORTS[frame.sort % QUEUE_SORTS.length]}`,
    ],
  ];
  if (queues.length === 0) {
    return {
      heading,
      lines: [
        [[' No queue is visible in this export: it has no wait spans and no client calls.']],
        [[' Waits are recorded where @waitfall/instrumentation is loaded into the service.', DIM]],
      ],
    };
  }
  const detailRows = Math.min(12, Math.max(6, rows - queues.length - 3));
  const height = Math.max(3, Math.min(queues.length, rows - detailRows - 3));
  const top = windowOf(frame.selected, frame.top, height, queues.length);
  const chosen = queues[Math.min(frame.selected, queues.length - 1)];
  const full = queues.filter(isFull).map((queue) => queue.rank);
  const lines: Line[] = table(
    queueColumns(session.report.windows.length),
    queues.slice(top, top + height).map((queue, index) => ({
      cells: cellsOf(queue, session.report.windows.length, session.report.requests.count),
      selected: top + index === frame.selected,
    })),
    columns,
  );
  const note =
    full.length > 0
      ? `${full.sort().join(' and ')} ${full.length > 1 ? 'are' : 'is'} full only because of 1`
      : '';
  lines.push([
    [
      ` ${choose([[note, 'own limit: by its own work alone · ≈ inferred, ? unknown'].filter(Boolean).join(' · '), note, ''], columns - 1)}`,
      DIM,
    ],
  ]);
  lines.push([['─'.repeat(columns), DIM]]);
  lines.push(...queueDetail(context, chosen, rows - lines.length).lines);
  return {
    heading,
    aside: [['instances grouped, hottest shown ', DIM]],
    lines,
    list: { count: queues.length, page: height, top },
    copy: chosen.row.resource,
  };
}

/** Behind the first queue, and held up by it enough to be called full. */
function isFull({ rank, at }: Queue): boolean {
  return rank > 1 && ['bad', 'warn'].includes(loadColor(at?.utilization ?? null) ?? '');
}

export function queueColumns(windows: number): Column[] {
  return [
    { title: ' queue', cells: 22, flexible: true, most: 60 },
    { title: 'cap', cells: 4, align: 'right' },
    { title: 'used by step', cells: Math.max(12, Math.min(24, windows)), priority: 0.4 },
    { title: 'used', cells: 6, align: 'right' },
    { title: 'waited', cells: 6, align: 'right' },
    { title: 'mean wait', cells: 9, align: 'right', priority: 3 },
    { title: 'p99 wait', cells: 8, align: 'right', priority: 0.5 },
    { title: 'queue', cells: 5, align: 'right', priority: 1 },
    { title: 'errors', cells: 6, align: 'right', priority: 4 },
    { title: 'demand', cells: 8, align: 'right', priority: 5 },
    { title: 'own limit', cells: 9, align: 'right' },
    { title: 'headroom', cells: 8, align: 'right', priority: 2 },
  ];
}

function cellsOf({ row, rank, at }: Queue, windows: number, requests: number) {
  const color = loadColor(at?.utilization ?? null);
  const errors = at ? at.rejected + at.timedOut : null;
  const headroom = headroomOf(row, at, requests);
  return [
    `${rank > 0 ? rank : ' '} ${clean(row.resource)}`,
    capacityText(row),
    [
      sparkline(
        row.windows.map((window) => window.utilization),
        Math.max(12, Math.min(24, windows)),
      ).padEnd(12),
      color ? { fg: color } : undefined,
    ] as const,
    [percent(at?.utilization), color ? { fg: color, bold: color === 'bad' } : undefined] as const,
    percent(at?.pWait),
    duration(at?.meanWaitNs),
    duration(at?.p99WaitNs),
    number(at?.meanQueueDepth ?? null),
    errors === null ? '–' : count(errors),
    duration(row.ownDemandNs),
    rate(row.saturatesAtPerSecond),
    headroom === null ? '–' : `${number(headroom)}×`,
  ];
}
