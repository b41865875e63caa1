import { count, duration, number, percent, rate } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { sparkline } from '../draw/spark.ts';
import { strip } from '../draw/strip.ts';
import { type Column, table, windowOf } from '../draw/table.ts';
import { choose } from '../draw/text.ts';
import { BOLD, DIM, type Line } from '../line.ts';
import { blockerText } from '../model/blocker.ts';
import { colorOfPart } from '../model/hold.ts';
import { capacityText, listQueues, loadColor, QUEUE_SORTS, type Queue } from '../model/queues.ts';
import { clean, padEnd, padStart } from '../width.ts';

/** The USE view: utilisation, saturation and errors of every queue. */
export function queuesScreen(context: Context): Screenful {
  const { session, state, frame, columns, rows } = context;
  const queues = listQueues(session, state, frame.sort, frame.reverse);
  const window = session.report.windows[state.step];
  const step = window
    ? ` at step ${state.step + 1} of ${session.report.windows.length} (${rate(window.receivedPerSecond)})`
    : '';
  const heading: Line = [
    [` ${count(queues.length)} queues${step}   sorted by ${QUEUE_SORTS[frame.sort % QUEUE_SORTS.length]}`],
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
  const full = queues.filter((queue) => queue.rank > 1).map((queue) => queue.rank);
  const lines: Line[] = table(
    columnsFor(session.report.windows.length),
    queues.slice(top, top + height).map((queue, index) => ({
      cells: cellsOf(queue, session.report.windows.length),
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
  lines.push(...queueDetail(context, chosen, rows - lines.length));
  return {
    heading,
    aside: [['instances grouped, hottest shown ', DIM]],
    lines,
    list: { count: queues.length, page: height, top },
    copy: chosen.row.resource,
  };
}

function columnsFor(windows: number): Column[] {
  return [
    { title: ' queue', cells: 22, flexible: true },
    { title: 'cap', cells: 4, align: 'right' },
    { title: 'used by step', cells: Math.max(12, Math.min(24, windows)) },
    { title: 'used', cells: 6, align: 'right' },
    { title: 'waited', cells: 6, align: 'right' },
    { title: 'mean wait', cells: 9, align: 'right', priority: 3 },
    { title: 'p99 wait', cells: 8, align: 'right' },
    { title: 'queue', cells: 5, align: 'right', priority: 1 },
    { title: 'errors', cells: 6, align: 'right', priority: 4 },
    { title: 'demand', cells: 8, align: 'right', priority: 5 },
    { title: 'own limit', cells: 9, align: 'right' },
    { title: 'headroom', cells: 8, align: 'right', priority: 2 },
  ];
}

function cellsOf({ row, rank, at }: Queue, windows: number) {
  const color = loadColor(at?.utilization ?? null);
  const errors = at ? at.rejected + at.timedOut : null;
  const headroom =
    row.saturatesAtPerSecond === null || !at || !row.visitsPerRequest
      ? null
      : row.saturatesAtPerSecond / (at.arrivalsPerSecond / row.visitsPerRequest);
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
    headroom === null || !Number.isFinite(headroom) ? '–' : `${number(headroom)}×`,
  ];
}

/** What fills the hold of a queue, and who waited longest for it. */
export function queueDetail(
  context: Context,
  { row, at, rank }: Queue,
  rows: number,
  selected = -1,
  top = 0,
): Line[] {
  const { columns, data, theme, session } = context;
  const lines: Line[] = [];
  const role = rank === 1 ? 'fills first' : rank > 1 ? 'filled by the queue before it' : (row.pattern ?? '');
  const where = `${row.service}${row.instances > 1 ? `, ${row.instances} instances` : ''}`;
  lines.push([
    [` ${clean(row.resource)}`, BOLD],
    [
      `  ${row.kind} of ${clean(where)}${role ? ` · ${role}` : ''}${row.hottestRatio !== null && row.instances > 1 ? ` · hottest ${number(row.hottestRatio)}× the mean` : ''}`,
      DIM,
    ],
  ]);
  const demand =
    row.ownDemandNs === null
      ? 'own demand unknown'
      : `${duration(at?.ownHoldNs ?? at?.meanHoldNs)} own hold × ${number(row.visitsPerRequest)} visits = ${duration(row.ownDemandNs)} a request`;
  const flat = row.demandFlat === null ? '' : row.demandFlat ? ' · flat over load' : ' · grows with load';
  lines.push([
    [
      `   wait ${duration(at?.meanWaitNs)} mean, ${duration(at?.p99WaitNs)} p99 · held ${duration(at?.meanHoldNs)} · ${demand}${flat}`,
    ],
  ]);
  if (row.holdComposition.length > 0) {
    const parts = row.holdComposition.map((part) => ({
      color: colorOfPart(part.what),
      label: `${clean(part.what)} ${percent(part.share)}${part.movable ? ' (movable)' : ''}`,
      value: part.share,
    }));
    const { bar, legend } = strip(parts, columns - 10, theme);
    lines.push([[' held by ', DIM], ...bar]);
    if (legend.length > 0) lines.push([['         '], ...legend]);
  }
  const waits = data.waits(row.resource);
  if (!waits) return [...lines, [[' loading the longest waits …', DIM]]];
  if (waits.length === 0) {
    const why =
      row.kind === 'lock'
        ? 'row locks are recorded where @waitfall/instrumentation patches pg'
        : 'nobody waited, or its waits are not recorded';
    return [...lines, [[` no waits in this export: ${why}`, DIM]]];
  }
  lines.push([[` ${padEnd('longest waits', 34)} ${padStart('waited', 9)}  held up by`, DIM]]);
  const room = Math.max(1, rows - lines.length);
  const first = selected < 0 ? 0 : windowOf(selected, top, room, waits.length);
  waits.slice(first, first + room).forEach((wait, offset) => {
    const { traces } = session;
    const route = traces.routes[traces.route[wait.trace]] ?? '';
    const name = `${traces.traceIds[wait.trace]?.slice(0, 8) ?? '?'} ${clean(route)} ${duration(traces.durationNs[wait.trace])}`;
    const marked = first + offset === selected;
    const by = wait.blocker ? blockerText(wait.blocker, session) : 'not recorded';
    const ahead = wait.queueDepth !== null && wait.queueDepth > 0 ? `; ${wait.queueDepth} ahead` : '';
    lines.push([
      [marked ? ' ▸ ' : '   '],
      [padEnd(name, 32), marked ? { selected: true } : undefined],
      [` ${padStart(duration(wait.waitNs), 9)}  ${by}${ahead}`],
    ]);
  });
  return lines;
}
