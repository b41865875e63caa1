import { duration, percent, timeOfDay } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { strip } from '../draw/strip.ts';
import { windowOf } from '../draw/table.ts';
import { waterfallBar } from '../draw/waterfall.ts';
import { BOLD, DIM, type Line, type Part, spread } from '../line.ts';
import { blockerText } from '../model/blocker.ts';
import { type VisibleRow, visibleRows } from '../model/rows.ts';
import { partText, segmentText } from '../model/segments.ts';
import { stripParts } from '../model/trace.ts';
import type { TraceDetail, TraceRow } from '../session.ts';
import { isOn } from '../state.ts';
import { clean, cutMiddle, padEnd, padStart, width } from '../width.ts';

/** One trace: its partition as a strip, its spans as a waterfall, and who held it up. */
export function traceScreen(context: Context): Screenful {
  const { data, frame, columns, rows } = context;
  const trace = data.trace(frame.trace);
  if (!trace) return { heading: [[' Traces › loading …', DIM]], lines: [] };
  const visible = visibleRows(trace, frame.folded);
  const chosen = visible[Math.min(frame.selected, visible.length - 1)];
  const top = stripLines(context, trace);
  if (isOn(frame, 'strip')) {
    return {
      ...base(context, trace),
      lines: [...top, ...partitionLines(context, trace, rows - top.length)],
      list: { count: visible.length, page: 1, top: 0 },
    };
  }
  const details = detailLines(context, trace, chosen);
  const height = Math.max(
    3,
    rows -
      top.length -
      1 -
      Math.min(details.length, Math.max(3, Math.floor(rows * (isOn(frame, 'details') ? 0.6 : 0.35)))),
  );
  const first = windowOf(frame.selected, frame.top, height - 1, visible.length);
  const nameCells = Math.max(24, Math.min(44, Math.floor(columns * 0.36)));
  const barCells = Math.max(10, columns - nameCells - 21);
  const mark =
    visible.length > height - 1
      ? `${first + 1}–${Math.min(visible.length, first + height - 1)} of ${visible.length}`
      : '';
  const header: Line = [
    [` ${padEnd(`span   ${mark}`, nameCells)} `, DIM],
    ...spread([['0', DIM]], [[duration(trace.durationNs), DIM]], barCells),
    [`${padStart('own', 10)} ${padStart('share', 7)}`, DIM],
  ];
  const lines: Line[] = visible
    .slice(first, first + height - 1)
    .map((row, offset) =>
      rowLine(context, trace, row, nameCells, barCells, first + offset === frame.selected),
    );
  while (lines.length < Math.min(height - 1, visible.length)) lines.push([['']]);
  return {
    ...base(context, trace),
    lines: [...top, header, ...lines, [['─'.repeat(columns), DIM]], ...details],
    list: { count: visible.length, page: height - 1, top: first },
  };
}

function base(
  { session, state }: Context,
  trace: TraceDetail,
): Pick<Screenful, 'heading' | 'aside' | 'copy'> {
  const cohort = session.traces.cohort[trace.index];
  const trail = state.stack.filter((frame) => frame.view === 'trace').length;
  const path =
    trail > 1 ? `blocker ${trail - 1} of the chain` : `trace ${trace.index + 1} of ${session.traces.count}`;
  return {
    heading: [[` Traces › ${clean(trace.route)} › ${path}`]],
    aside: [[cohort === 2 ? 'part of the slowest 1 % ' : cohort === 1 ? 'around the median ' : '', DIM]],
    copy: trace.traceId,
  };
}

function stripLines({ columns, theme }: Context, trace: TraceDetail): Line[] {
  const id = columns >= 100 ? trace.traceId : trace.traceId.slice(-8);
  const kind = trace.kind === 'true' ? '' : `  ${trace.kind} root`;
  const head: Line = [
    [` ${cutMiddle(clean(trace.route), Math.max(12, columns - 58))}`, BOLD],
    [`  ${duration(trace.durationNs)}`, BOLD],
    [`  ${trace.status || trace.outcome}`, trace.outcome === 'success' ? undefined : { fg: 'bad' }],
    [`  at ${timeOfDay(trace.startUnixNano)}  ${clean(id)}${kind}`, DIM],
  ];
  if (trace.durationNs === 0) return [head, [[' This trace lasts 0 ns: there is nothing to cut up.', DIM]]];
  const { bar, legend } = strip(stripParts(trace), columns - 2, theme);
  return [head, [[' '], ...bar], [[' '], ...legend]];
}

function rowLine(
  { theme }: Context,
  trace: TraceDetail,
  visible: VisibleRow,
  nameCells: number,
  barCells: number,
  selected: boolean,
): Line {
  const row = trace.rows[visible.index];
  const indent = ' '.repeat(Math.min(row.depth * 2, Math.floor(nameCells / 2)));
  const mark = visible.hasChildren ? (visible.open ? '▾' : '▸') : '·';
  const blocked = row.blockers.length > 0 ? ' b' : '  ';
  const times = visible.count > 1 ? ` ×${visible.count}` : '';
  const room = nameCells - 2 - indent.length - 2 - width(times);
  const name = clean(row.name);
  const label: Part = [
    padEnd(`${cutMiddle(name, Math.max(3, room))}${times}`, nameCells - 2 - indent.length - 2),
    selected ? { selected: true } : row.error ? { fg: 'bad' } : undefined,
  ];
  const cells: Line = [
    [selected ? '▸' : ' '],
    [`${indent}${mark} `],
    label,
    [blocked, { fg: row.segment }],
    [' '],
  ];
  const bar = waterfallBar(merged(trace, visible), trace.durationNs, barCells, theme);
  const used = bar.reduce((sum, [text]) => sum + width(text), 0);
  const share = trace.durationNs === 0 ? null : visible.ownedNs / trace.durationNs;
  return [
    ...cells,
    ...bar,
    [' '.repeat(Math.max(0, barCells - used))],
    [
      row.detached
        ? `${padStart('–', 10)} ${padStart('–', 7)}`
        : `${padStart(duration(visible.ownedNs), 10)} ${padStart(percent(share), 7)}`,
    ],
  ];
}

/** A group of folded siblings is drawn as one bar over all of them. */
function merged(trace: TraceDetail, visible: VisibleRow): TraceRow {
  const row = trace.rows[visible.index];
  if (visible.count === 1) return row;
  const members = visible.members.map((index) => trace.rows[index]);
  let startNs = row.startNs;
  let endNs = row.endNs;
  for (const member of members) {
    startNs = Math.min(startNs, member.startNs);
    endNs = Math.max(endNs, member.endNs);
  }
  return { ...row, startNs, endNs, owned: members.flatMap((member) => member.owned) };
}

function detailLines(context: Context, trace: TraceDetail, visible: VisibleRow | undefined): Line[] {
  if (!visible) return [];
  const { session, data, frame, columns } = context;
  const row = trace.rows[visible.index];
  const lines: Line[] = [];
  const what = partText({
    segment: row.segment,
    resource: row.resource === null ? null : clean(row.resource),
  });
  const bounds = row.detached
    ? `ran from ${duration(row.startNs)} to ${duration(row.endNs)}, after everything that could have waited for it`
    : `${duration(row.endNs - row.startNs)}, from ${duration(row.startNs)} to ${duration(row.endNs)}`;
  lines.push([
    [` ${clean(row.name)}`, BOLD],
    [`  ${bounds}  `],
    [what, { fg: row.segment }],
    [row.estimated ? '  ≈ estimated' : '', DIM],
  ]);
  for (const blocker of row.blockers.slice(0, 4)) {
    lines.push([
      [` held up by ${blockerText(blocker, session)}`],
      [blocker.trace >= 0 ? '   b: go there' : '   blocker not in the input', DIM],
    ]);
  }
  if (row.heldNs !== null)
    lines.push([
      [
        ` then held ${duration(row.heldNs)}${row.queueDepth !== null ? ` · ${row.queueDepth} ahead when it came` : ''}`,
      ],
    ]);
  if (row.service !== trace.service) lines.push([[` in service ${clean(row.service)}`, DIM]]);
  const span = data.span(row.row);
  if (span) {
    if (span.statusMessage) lines.push([[` ${clean(span.statusMessage)}`, { fg: 'bad' }]]);
    if (isOn(frame, 'details')) {
      for (const [key, value] of span.attributes)
        lines.push([[` ${padEnd(clean(key), Math.min(40, Math.floor(columns / 3)))} `, DIM], [clean(value)]]);
      for (const event of span.events)
        lines.push([
          [` event ${event.offsetNs === null ? '' : `at ${duration(event.offsetNs)} `}`, DIM],
          [clean(event.name)],
        ]);
      for (const link of span.links)
        lines.push([
          [` link ${clean(link.meaning)} `, DIM],
          [`${clean(link.traceId)} ${clean(link.spanId)}`],
        ]);
      lines.push([[` scope ${clean(span.scope)} · span ${clean(row.spanId)}`, DIM]]);
    } else {
      const text = span.attributes.map(([key, value]) => `${clean(key)}=${clean(value)}`).join('  ');
      if (text) lines.push([[' attributes  ', DIM], [text]]);
    }
  }
  return lines;
}

/** The partition alone: every stretch in time order, adding up to the duration. */
function partitionLines({ frame }: Context, trace: TraceDetail, rows: number): Line[] {
  const lines: Line[] = [
    [[' the partition in time order: each instant belongs to one span, and all parts add up', DIM]],
  ];
  const room = rows - 3;
  const first = windowOf(
    Math.min(frame.selected, trace.pieces.length - 1),
    frame.top,
    room,
    trace.pieces.length,
  );
  for (const piece of trace.pieces.slice(first, first + room)) {
    const row = trace.rows[piece.row];
    const length = piece.endNs - piece.startNs;
    lines.push([
      [` ${padStart(duration(piece.startNs), 9)} `, DIM],
      [padStart(duration(length), 9)],
      [` ${padStart(percent(length / (trace.durationNs || 1)), 7)}  `],
      [padEnd(segmentText(row.segment), 17), { fg: row.segment }],
      [` ${clean(row.name)}`],
    ]);
  }
  const shown = Math.min(trace.pieces.length, first + room);
  if (shown < trace.pieces.length) lines.push([[` ${trace.pieces.length - shown} more parts`, DIM]]);
  const sum = trace.pieces.reduce((total, piece) => total + piece.endNs - piece.startNs, 0);
  lines.push([
    [
      ` parts add up to ${sum.toLocaleString('en-US')} ns of ${trace.durationNs.toLocaleString('en-US')} ns`,
      DIM,
    ],
  ]);
  return lines;
}
