import { duration, percent } from '../../report/units.ts';
import type { Context } from '../context.ts';
import { choose, pack } from '../draw/text.ts';
import { BOLD, DIM, type Line } from '../line.ts';
import { blockerText } from '../model/blocker.ts';
import { isSection, type VisibleRow } from '../model/rows.ts';
import { partText, segmentText } from '../model/segments.ts';
import { estimateText, traceParts } from '../model/trace.ts';
import type { TraceDetail, TraceRow } from '../session.ts';
import { isOn } from '../state.ts';
import { LETTERS } from '../theme.ts';
import { clean, cutMiddle, padEnd, padStart, width } from '../width.ts';

/** What is known of the chosen line of a trace. */
export function detailLines(context: Context, trace: TraceDetail, line: VisibleRow | undefined): Line[] {
  if (!line) return [];
  if (isSection(line))
    return [
      [[` ${line.count} detached ${line.count === 1 ? 'span' : 'spans'}`, BOLD]],
      [[` they ended after everything that could have waited for them: they held nobody up and own no time`]],
    ];
  const row = trace.rows[line.index];
  return [
    titleLine(context, row, line),
    ...factLines(context, trace, row),
    ...blockerLines(context, row),
    ...spanLines(context, row),
  ];
}

function titleLine({ columns }: Context, row: TraceRow, line: VisibleRow): Line {
  const what = partText({
    segment: row.segment,
    resource: row.resource === null ? null : clean(row.resource),
  });
  const at = `${duration(row.endNs - row.startNs)}, from ${duration(row.startNs)} to ${duration(row.endNs)}`;
  const many = line.count > 1 ? `${line.count} alike, ${duration(line.ownedNs)} in all; the first: ` : '';
  const estimate = choose([estimateText(row), estimateText(row) && '≈'], Math.floor(columns * 0.45));
  const name = cutMiddle(clean(row.name), Math.floor(columns * 0.4));
  const left = columns - width(name) - width(estimate) - 8;
  const bounds = choose([`${many}${at}`, at, duration(row.endNs - row.startNs)], left - width(what));
  return [
    [` ${name}`, BOLD],
    [`  ${bounds}  `],
    [choose([what, segmentText(row.segment), ''], left - width(bounds)), { fg: row.segment }],
    [estimate === '' ? '' : `  ${estimate}`, DIM],
  ];
}

/** Blockers a line each; all of them only in the details. */
function blockerLines({ session, frame, columns }: Context, row: TraceRow): Line[] {
  const shown = row.blockers.slice(0, isOn(frame, 'details') ? 8 : 2);
  const more = row.blockers.length - shown.length;
  return shown.map((blocker, index): Line => {
    const last = index === shown.length - 1 && more > 0;
    const hint =
      index === 0 && blocker.trace >= 0 ? '   b: go there' : last ? `   and ${more} more (Tab)` : '';
    const state = blocker.state === '' ? '' : `, ${clean(blocker.state)}`;
    const age = blocker.ageNs === null ? '' : `, begun ${duration(blocker.ageNs)} before`;
    const by = ` ${index === 0 ? 'held up by' : 'and before by'} ${blockerText(blocker, session)}`;
    return [[choose([`${by}${state}${age}`, `${by}${state}`, by], columns - width(hint))], [hint, DIM]];
  });
}

function factLines({ columns }: Context, trace: TraceDetail, row: TraceRow): Line[] {
  const facts: string[] = [];
  if (row.heldNs !== null) facts.push(`then held ${duration(row.heldNs)}`);
  if (row.queueDepth !== null) facts.push(`${row.queueDepth} ahead when it came`);
  if (row.service !== trace.service) facts.push(`in service ${clean(row.service)}`);
  return facts.length === 0 ? [] : [[[` ${pack(facts, ' · ', columns - 1).text}`]]];
}

function spanLines({ data, frame, columns }: Context, row: TraceRow): Line[] {
  const span = data.span(row.row);
  if (!span) return [];
  const lines: Line[] = [];
  if (span.statusMessage) lines.push([[` ${clean(span.statusMessage)}`, { fg: 'bad' }]]);
  if (!isOn(frame, 'details')) {
    const text = span.attributes.map(([key, value]) => `${clean(key)}=${clean(value)}`).join('  ');
    if (text) lines.push([[' attributes  ', DIM], [text]]);
    return lines;
  }
  for (const [key, value] of span.attributes)
    lines.push([[` ${padEnd(clean(key), Math.min(40, Math.floor(columns / 3)))} `, DIM], [clean(value)]]);
  for (const event of span.events)
    lines.push([
      [` event ${event.offsetNs === null ? '' : `at ${duration(event.offsetNs)} `}`, DIM],
      [clean(event.name)],
    ]);
  for (const link of span.links)
    lines.push([[` link ${clean(link.meaning)} `, DIM], [`${clean(link.traceId)} ${clean(link.spanId)}`]]);
  lines.push([[` scope ${clean(span.scope) || 'not stated'} · span ${clean(row.spanId)}`, DIM]]);
  return lines;
}

/** Where a screen has room below the waterfall: the time by segment and resource, adding up to the duration. */
export function partLines({ theme }: Context, trace: TraceDetail, rows: number): Line[] {
  const parts = traceParts(trace);
  if (rows < 4 || parts.length === 0) return [];
  const lines: Line[] = [[['']], [[' time by segment and resource', DIM]]];
  const shown = parts.slice(0, rows - 3);
  for (const part of shown) {
    lines.push([
      [' '],
      [theme.depth ? '█' : LETTERS[part.segment], { fg: part.segment }],
      [
        ` ${padStart(duration(part.ownedNs), 9)} ${padStart(percent(part.ownedNs / trace.durationNs), 7)}  ${clean(partText(part))}`,
      ],
      [`  ${part.spans} ${part.spans === 1 ? 'span' : 'spans'}`, DIM],
    ]);
  }
  if (shown.length < parts.length) lines.push([[` and ${parts.length - shown.length} more, smaller`, DIM]]);
  return lines;
}
