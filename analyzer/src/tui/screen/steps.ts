import type { WindowRow } from '../../aggregate/types.ts';
import { count, duration, percent, rate } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { stacked } from '../draw/stacked.ts';
import { type Column, table, windowOf } from '../draw/table.ts';
import { choose } from '../draw/text.ts';
import { DIM, type Line } from '../line.ts';
import { bySegment, partsOf, partText } from '../model/segments.ts';
import { loadSummary } from '../model/verdict.ts';
import { isOn } from '../state.ts';
import { LETTERS } from '../theme.ts';
import { clean, padEnd, padStart, width } from '../width.ts';

export const STEP_COLUMNS: readonly Column[] = [
  { title: 'step', cells: 12, flexible: true, most: 24 },
  { title: 'planned', cells: 8, align: 'right', priority: 2 },
  { title: 'arrived', cells: 8, align: 'right' },
  { title: 'completed', cells: 9, align: 'right' },
  { title: 'good', cells: 8, align: 'right', priority: 1 },
  { title: 'failed', cells: 7, align: 'right' },
  { title: 'p50', cells: 8, align: 'right' },
  { title: 'p99', cells: 8, align: 'right' },
  { title: 'p99.9', cells: 8, align: 'right', priority: 3 },
];

/** One line a window, and where the time of the chosen one went. */
export function stepsScreen(context: Context): Screenful {
  const { session, state, frame, columns, rows } = context;
  const { windows } = session.report;
  const heading: Line = [[` ${loadSummary(session)}`]];
  if (windows.length === 0) {
    return {
      heading,
      lines: [
        [[' This input has no load steps: it needs requests, that is traces with a root.']],
        [[' See 6 Input for what was read. A load plan (--load load.json) names the steps.', DIM]],
      ],
    };
  }
  const share = isOn(frame, 'share');
  const height = Math.min(windows.length, Math.max(4, Math.floor((rows - 3) * 0.55)));
  const detail = detailLines(context, windows[Math.max(0, state.step)], share, rows - height - 2);
  const top = windowOf(state.step, frame.top, height, windows.length);
  const shown = windows.slice(top, top + height);
  const barCells = columns >= 110 ? Math.min(140, columns - 86) : 0;
  const largest = Math.max(...windows.map((window) => window.latencyNs.mean ?? 0));
  const lines = table(
    STEP_COLUMNS,
    shown.map((window, index) => ({
      cells: cellsOf(window, top + index),
      selected: top + index === state.step,
    })),
    columns - barCells - (barCells > 0 ? 1 : 0),
  ).map((line, index): Line => {
    if (barCells === 0) return line;
    if (index === 0)
      return [
        ...line,
        [
          choose(
            share
              ? ['where the time went, as a share', 'time, as a share']
              : ['where the time went, same scale', 'time, same scale'],
            barCells,
          ),
          DIM,
        ],
      ];
    const window = shown[index - 1];
    const parts = bySegment(partsOf(window.segments)).map((part) => ({
      color: part.segment,
      value: part.meanNs,
    }));
    const cells = share ? barCells : Math.round(((window.latencyNs.mean ?? 0) / (largest || 1)) * barCells);
    return [...line, ...stacked(parts, cells, context.theme)];
  });
  return {
    heading,
    aside: [[`good: successes only · p50…: all requests · x: ${share ? 'same scale' : 'shares'} `, DIM]],
    lines: [...lines, [['─'.repeat(columns), DIM]], ...detail],
    list: { count: windows.length, page: height, top },
  };
}

function cellsOf(window: WindowRow, index: number): (string | [string, { fg: 'bad' | 'warn' }])[] {
  const failed =
    window.byOutcome.rejected + window.byOutcome.timeout + window.byOutcome.aborted + window.byOutcome.error;
  const phase = window.phase ?? '';
  const unstable = window.stable === false ? ' ↑' : '';
  return [
    `${index + 1} ${phase}${unstable}`,
    rate(window.plannedPerSecond),
    rate(window.receivedPerSecond),
    rate(window.completedPerSecond),
    rate(window.goodputPerSecond),
    failed > 0 ? [count(failed), { fg: 'bad' }] : '0',
    duration(window.latencyNs.p50),
    duration(window.latencyNs.p99),
    duration(window.latencyNs.p999),
  ];
}

/** Decomposition, outcomes and accounting of one window. */
function detailLines(context: Context, window: WindowRow, share: boolean, room: number): Line[] {
  const { state, theme } = context;
  const lines: Line[] = [];
  const of = (n: number): string => `${n} ${n === 1 ? 'request' : 'requests'}`;
  const { accounting: flow, byOutcome } = window;
  lines.push([
    [
      ` Step ${state.step + 1}: ${flow.inFlightStart} open + ${flow.entered} entered − ${flow.left} left = ${flow.inFlightEnd} open`,
    ],
  ]);
  const outcomes = Object.entries(byOutcome).filter(([, n]) => n > 0);
  const counts = ` ${outcomes.map(([name, n]) => `${count(n)} ${name}`).join(' · ') || of(0)}`;
  const grows = [
    '  ↑ backlog grows: percentiles depend on how long the step lasted',
    '  ↑ backlog grows',
    '',
  ];
  lines.push([
    [counts, DIM],
    [window.stable === false ? choose(grows, context.columns - width(counts)) : '', { fg: 'warn' }],
  ]);
  lines.push(...cohortLines(context, share));
  const parts = partsOf(window.segments);
  const total = parts.reduce((sum, part) => sum + part.meanNs, 0);
  const left = Math.max(1, room - lines.length);
  const space = parts.length <= left ? parts.length : left - 1;
  for (const part of parts.slice(0, space)) {
    const mark = theme.depth ? '█' : LETTERS[part.segment];
    lines.push([
      [' '],
      [mark, { fg: part.segment }],
      [
        ` ${padStart(duration(part.meanNs), 9)} ${padStart(percent(part.meanNs / (total || 1)), 6)}  ${clean(partText(part))}`,
      ],
    ]);
  }
  if (parts.length > space) lines.push([[` +${parts.length - space} smaller parts`, DIM]]);
  return lines;
}

/** The requests around the median and the slowest hundredth of the chosen step: one scale, or shares. */
function cohortLines({ data, state, columns, theme }: Context, share: boolean): Line[] {
  const group = data.step(Math.max(0, state.step));
  if (!group) return [[[' loading the requests of this step …', DIM]], [['']]];
  const cohorts = group.cohorts.filter((cohort) => cohort.name !== 'p99');
  const room = columns - 30;
  const largest = Math.max(1, ...cohorts.map((cohort) => cohort.meanNs));
  return cohorts.map((cohort): Line => {
    const cells = share ? room : Math.max(1, Math.round((cohort.meanNs / largest) * room));
    const parts = bySegment([...cohort.segments]).map((part) => ({
      color: part.segment,
      value: part.meanNs,
    }));
    return [
      [` ${padEnd(cohort.name === 'median' ? 'around the median' : 'slowest 1 %', 17)}`],
      [padStart(duration(cohort.meanNs), 9)],
      [' '],
      ...stacked(parts, cells, theme),
    ];
  });
}
