import { duration, percent, timeOfDay } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { strip } from '../draw/strip.ts';
import { windowOf } from '../draw/table.ts';
import { choose } from '../draw/text.ts';
import { waterfallBar } from '../draw/waterfall.ts';
import { BOLD, DIM, type Line, type Part, spread } from '../line.ts';
import { isSection, type VisibleRow, visibleRows } from '../model/rows.ts';
import { segmentText } from '../model/segments.ts';
import { shortId } from '../model/short-id.ts';
import { stripParts } from '../model/trace.ts';
import type { TraceDetail, TraceRow } from '../session.ts';
import { isOn } from '../state.ts';
import type { Theme } from '../theme.ts';
import { clean, cutEnd, cutMiddle, padEnd, padStart, width } from '../width.ts';
import { detailLines, partLines } from './trace-detail.ts';

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
      list: { count: trace.pieces.length, page: rows - top.length - 3, top: frame.top },
    };
  }
  // As many lines for every row, or the waterfall would jump while the cursor moves.
  const detailRows = isOn(frame, 'details')
    ? Math.floor(rows * 0.6)
    : Math.max(4, Math.min(8, Math.floor(rows * 0.25)));
  const height = Math.max(4, rows - top.length - 1 - detailRows);
  const details = fixedRows(detailLines(context, trace, chosen), detailRows);
  const first = windowOf(frame.selected, frame.top, height - 1, visible.length, 2);
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
  const body: Line[] = [...top, header, ...lines, [['─'.repeat(columns), DIM]], ...details];
  return {
    ...base(context, trace),
    lines: [...body, ...partLines(context, trace, rows - body.length)],
    list: { count: visible.length, page: height - 1, top: first },
  };
}

function fixedRows(lines: readonly Line[], rows: number): Line[] {
  const out = lines.slice(0, rows);
  if (lines.length > rows)
    out[rows - 1] = [[` and ${lines.length - rows + 1} more lines: o saves them all`, DIM]];
  while (out.length < rows) out.push([['']]);
  return out;
}

function base(
  { session, state }: Context,
  trace: TraceDetail,
): Pick<Screenful, 'heading' | 'aside' | 'copy'> {
  // Fewer traces have no slowest hundredth worth the name.
  const cohort = session.traces.count < 100 ? 0 : session.traces.cohort[trace.index];
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
  const id = columns >= 100 ? trace.traceId : shortId(trace.traceId);
  const others = trace.otherParts.length;
  const kind = trace.kind === 'true' ? '' : `  ${trace.kind} root`;
  const more = others === 0 ? '' : `  +${others} other ${others === 1 ? 'part' : 'parts'}: t`;
  const head: Line = [
    [` ${cutMiddle(clean(trace.route), Math.max(12, columns - 58 - width(more) - width(kind)))}`, BOLD],
    [`  ${duration(trace.durationNs)}`, BOLD],
    [`  ${trace.status || trace.outcome}`, trace.outcome === 'success' ? undefined : { fg: 'bad' }],
    [`  at ${timeOfDay(trace.startUnixNano)}  ${clean(id)}${kind}`, DIM],
    [more, { fg: 'warn' }],
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
  if (isSection(visible)) return sectionLine(visible, trace, selected);
  const row = trace.rows[visible.index];
  const indent = indentOf(row.depth, Math.floor(nameCells / 2));
  const mark = visible.hasChildren ? (visible.open ? '▾' : '▸') : '·';
  const blocked = row.blockers.length > 0 ? ' b' : '  ';
  const times = visible.count > 1 ? ` ×${visible.count}` : '';
  const room = nameCells - 2 - indent.length - 2 - width(times);
  const name = nameOf(row);
  const label: Part = [
    padEnd(`${cutName(name, Math.max(3, room))}${times}`, nameCells - 2 - indent.length - 2),
    selected ? { selected: true } : row.error ? { fg: 'bad' } : undefined,
  ];
  const cells: Line = [
    [selected ? '▸' : ' '],
    [`${indent}${mark} `],
    label,
    [blocked, { fg: row.segment }],
    [' '],
  ];
  const bar = barOf(trace, visible, barCells, theme);
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

/** The colour says that it is a wait: the name of what was waited for needs the room. */
function nameOf({ name, segment }: TraceRow): string {
  return clean(segment.endsWith('_wait') ? name.replace(/^wait_for /, '') : name);
}

/** The verb of `pg.query:UPDATE shop` stands in its middle, which a long name would lose: such a name loses its end. */
function cutName(name: string, cells: number): string {
  const verb = /^\S+:[A-Z]+(?= )/.exec(name)?.[0];
  return verb !== undefined && width(verb) < cells ? cutEnd(name, cells) : cutMiddle(name, cells);
}

/** Deeper than there is room for, the depth stands in figures. */
function indentOf(depth: number, most: number): string {
  return depth * 2 <= most ? ' '.repeat(depth * 2) : padStart(`${depth}›`, most);
}

function sectionLine(visible: VisibleRow, trace: TraceDetail, selected: boolean): Line {
  const last = trace.rows.reduce((end, row) => (row.detached ? Math.max(end, row.endNs) : end), 0);
  const n = visible.count;
  return [
    [selected ? '▸' : ' '],
    [`${visible.open ? '▾' : '▸'} `],
    [
      `detached: ${n} ${n === 1 ? 'span' : 'spans'} that held nobody up`,
      selected ? { selected: true } : { dim: true },
    ],
    [`   run on to ${duration(last)}`, DIM],
  ];
}

const BARS = new WeakMap<VisibleRow, { cells: number; depth: Theme['depth']; bar: Line }>();

/** The bar of a line, drawn once a width: a span may own 100,000 stretches, and every key draws the screen. */
function barOf(trace: TraceDetail, visible: VisibleRow, cells: number, theme: Theme): Line {
  const known = BARS.get(visible);
  if (known?.cells === cells && known.depth === theme.depth) return known.bar;
  const bar = waterfallBar(merged(trace, visible), trace.durationNs, cells, theme);
  BARS.set(visible, { cells, depth: theme.depth, bar });
  return bar;
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

/** The partition alone: every stretch in time order, adding up to the duration. */
function partitionLines({ frame, columns }: Context, trace: TraceDetail, rows: number): Line[] {
  const lines: Line[] = [
    [
      [
        choose(
          [
            ' the partition in time order: each instant belongs to one span, and all parts add up',
            ' the partition in time order: its parts add up to the duration',
          ],
          columns,
        ),
        DIM,
      ],
    ],
  ];
  const room = rows - 3;
  const first = windowOf(
    Math.min(frame.selected, trace.pieces.length - 1),
    frame.top,
    room,
    trace.pieces.length,
  );
  trace.pieces.slice(first, first + room).forEach((piece, offset) => {
    const row = trace.rows[piece.row];
    const length = piece.endNs - piece.startNs;
    lines.push([
      [first + offset === frame.selected ? '▸' : ' '],
      [`${padStart(duration(piece.startNs), 9)} `, DIM],
      [padStart(duration(length), 9)],
      [` ${padStart(percent(length / (trace.durationNs || 1)), 7)}  `],
      [padEnd(segmentText(row.segment), 17), { fg: row.segment }],
      [` ${cutMiddle(nameOf(row), Math.max(3, columns - 49))}`],
    ]);
  });
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
