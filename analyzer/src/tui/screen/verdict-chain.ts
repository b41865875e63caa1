import type { ChainLink } from '../../infer/types.ts';
import { duration, number, percent, rate } from '../../report/units.ts';
import type { Context } from '../context.ts';
import { bar } from '../draw/bar.ts';
import { box } from '../draw/box.ts';
import { type Column, table } from '../draw/table.ts';
import { choose } from '../draw/text.ts';
import { BOLD, beside, DIM, type Line } from '../line.ts';
import { headroomOf, nearestLimits } from '../model/headroom.ts';
import { capacityText, findResource, loadColor } from '../model/queues.ts';
import { clean, padEnd, padStart } from '../width.ts';

/** Cells a box needs for `queue 30.3 for 10` inside its border. */
const LEAST_BOX = 21;

/** The chain as boxes where there is room, else one line. */
export function chainLines(context: Context): Line[] {
  const { session, columns, state } = context;
  const { chain } = session.report.verdict;
  if (chain.length === 0) return [];
  const window = session.report.windows[state.step];
  const at = window ? `, at ${rate(window.receivedPerSecond)}` : '';
  const caption = choose(
    [
      `What fills what${at}   an arrow: share of the growth of the next queue's hold that comes from this wait`,
      `What fills what${at}   arrow: share of the next hold's growth`,
      `What fills what${at}`,
    ],
    columns - 1,
  );
  const shown = chain.slice(0, 3);
  const arrow = 7;
  const boxColumns = Math.min(30, Math.floor((columns - 2 - arrow * (shown.length - 1)) / shown.length));
  if (boxColumns < LEAST_BOX) return [[[` ${caption}`, DIM]], ...plainLines(context, chain)];
  let block: Line[] = [];
  let used = 0;
  shown.forEach((link, index) => {
    const next = queueBox(context, link, index, boxColumns);
    if (index === 0) {
      block = next;
      used = boxColumns;
      return;
    }
    // A wait may grow by more than the hold around it, where that shrinks otherwise.
    const share = link.share === null ? '' : percent(Math.min(1, link.share));
    const lines: Line[] = next.map((_, row): Line => {
      if (row === 1) return [[padStart(share, 6), DIM]];
      return row === 2 ? [[' ━━━━▶ ', { fg: 'bad' }]] : [['']];
    });
    block = beside(beside(block, lines, used, 0), next, used + arrow, 0);
    used += arrow + boxColumns;
  });
  const more =
    chain.length > shown.length
      ? [
          [
            [
              ` … and ${chain
                .slice(3)
                .map((link) => link.resource)
                .join(' → ')}`,
              DIM,
            ],
          ] as Line,
        ]
      : [];
  return [[[` ${caption}`, DIM]], ...block.map((line): Line => [[' '], ...line]), ...more];
}

function queueBox(context: Context, link: ChainLink, index: number, columns: number): Line[] {
  const row = findResource(context.session, link.resource);
  const at = row?.windows[context.state.step];
  const inner = columns - 4;
  const barCells = Math.max(3, inner - 13);
  const used = at?.utilization ?? null;
  const body = [
    used === null ? 'used  unknown' : `used  ${bar(used, barCells)} ${padStart(percent(used), 6)}`,
    choose(
      [
        `wait  ${padEnd(duration(at?.meanWaitNs), 8)} p99 ${duration(at?.p99WaitNs)}`,
        `wait  ${duration(at?.meanWaitNs)} p99 ${duration(at?.p99WaitNs)}`,
        `wait  ${duration(at?.meanWaitNs)}`,
      ],
      inner,
    ),
    `queue ${number(at?.meanQueueDepth ?? null)} for ${row ? capacityText(row) : '?'}`,
  ];
  if (context.columns >= 110 && context.rows >= 28 && row) {
    body.push(`held  ${duration(at?.meanHoldNs)} × ${number(row.visitsPerRequest)}`);
    body.push(`limit ${rate(row.saturatesAtPerSecond)} alone`);
  }
  return box(
    `${index + 1} ${link.resource}`,
    body,
    columns,
    index === 0,
    index === 0 ? { fg: loadColor(used) ?? 'bad' } : undefined,
  );
}

/** A line a queue, where boxes would be too narrow for their numbers. */
function plainLines({ session, state, columns }: Context, chain: readonly ChainLink[]): Line[] {
  const names = Math.min(24, columns - 40);
  return chain.map((link, index): Line => {
    const at = findResource(session, link.resource)?.windows[state.step];
    const share = link.share === null ? '' : `  < ${percent(Math.min(1, link.share))}`;
    return [
      [` ${padEnd(`${index + 1} ${clean(link.resource)}`, names)} `, index === 0 ? BOLD : undefined],
      [`used ${padStart(percent(at?.utilization), 6)}`, { fg: loadColor(at?.utilization ?? null) ?? 'ok' }],
      [`  wait ${padStart(duration(at?.meanWaitNs), 7)}${share}`],
    ];
  });
}

export const ROOM_COLUMNS: readonly Column[] = [
  { title: 'room left', cells: 16, flexible: true, most: 60 },
  { title: 'servers', cells: 7, align: 'right' },
  { title: 'used', cells: 6, align: 'right' },
  { title: 'mean wait', cells: 9, align: 'right', priority: 1 },
  { title: 'own limit', cells: 9, align: 'right' },
  { title: 'headroom', cells: 8, align: 'right' },
];

/** Without a verdict: how far each queue is from its own limit, which one rate is enough to know. */
export function roomLines({ session, columns, state }: Context, most: number): Line[] {
  const rows = nearestLimits(session, most);
  if (rows.length === 0) return [];
  return table(
    ROOM_COLUMNS,
    rows.map((row) => {
      const at = row.windows[state.step] ?? null;
      const color = loadColor(at?.utilization ?? null);
      const headroom = headroomOf(row, at, session.report.requests.count);
      return {
        cells: [
          clean(row.resource),
          capacityText(row),
          [percent(at?.utilization), color ? { fg: color } : undefined] as const,
          duration(at?.meanWaitNs),
          rate(row.saturatesAtPerSecond),
          headroom === null ? '–' : `${number(headroom)}×`,
        ],
      };
    }),
    columns,
  );
}
