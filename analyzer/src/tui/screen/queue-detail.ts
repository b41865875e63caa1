import { duration, percent } from '../../report/units.ts';
import type { Context } from '../context.ts';
import { strip } from '../draw/strip.ts';
import { windowOf } from '../draw/table.ts';
import { choose, pack, wrap } from '../draw/text.ts';
import { BOLD, DIM, type Line } from '../line.ts';
import { blockerText } from '../model/blocker.ts';
import { colorOfPart } from '../model/hold.ts';
import { costSentence, findingsOf, noWaitsText, roleText, tallyTexts } from '../model/queue-text.ts';
import type { Queue } from '../model/queues.ts';
import { shortId } from '../model/short-id.ts';
import type { WaitSummary } from '../session.ts';
import { clean, padEnd, padStart } from '../width.ts';

/** What fills the hold of a queue, who waits on it and who holds it, in at most `rows` lines. */
export function queueDetail(
  context: Context,
  queue: Queue,
  rows: number,
  selected = -1,
  top = 0,
): { readonly lines: readonly Line[]; readonly page: number } {
  const { columns, data, theme, session } = context;
  const { row } = queue;
  const lines: Line[] = [];
  const name = clean(row.resource);
  const roles = roleText(queue).map(clean);
  lines.push([
    [` ${name}`, BOLD],
    [`  ${choose(roles, columns - name.length - 3)}`, DIM],
  ]);
  lines.push([[`   ${choose(costSentence(queue).map(clean), columns - 4)}`]]);
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
  for (const finding of findingsOf(session, row.resource).slice(0, 2)) {
    const parts = wrap(clean(finding.text), columns - 11);
    if (lines.length + parts.length + 4 > rows) break;
    parts.forEach((part, index) => {
      lines.push([
        [index === 0 ? ' note     ' : '          ', DIM],
        [part, { fg: 'warn' }],
      ]);
    });
  }
  const waits = data.waits(row.resource);
  if (!waits) return { lines: [...lines, [[' loading the longest waits …', DIM]]], page: 1 };
  lines.push(...whoLines(waits, columns));
  if (waits.examples.length === 0) {
    const parts = wrap(noWaitsText(queue), columns - 2);
    return { lines: [...lines, ...parts.map((text): Line => [[` ${text}`, DIM]])], page: 1 };
  }
  const room = Math.max(1, rows - lines.length - 1);
  return { lines: [...lines, ...exampleLines(context, waits, room, selected, top)], page: room };
}

/** Routes that wait and routes that hold, one line each. */
function whoLines({ waiters, holders }: WaitSummary, columns: number): Line[] {
  const lines: Line[] = [];
  for (const [title, tally] of [
    [' waiting ', waiters],
    [' holding ', holders],
  ] as const) {
    if (tally.length === 0) continue;
    const { text } = pack(tallyTexts(tally).map(clean), ' · ', columns - 12);
    if (text) lines.push([[title, DIM], [` ${text}`]]);
  }
  return lines;
}

function exampleLines(
  { session, columns }: Context,
  { examples, blockers }: WaitSummary,
  room: number,
  selected: number,
  top: number,
): Line[] {
  const { traces } = session;
  const causes = new Map(blockers.map((blocker) => [blocker.row, blocker]));
  const nameCells = columns >= 110 ? 40 : 32;
  const lines: Line[] = [
    [[` ${padEnd('longest waits', nameCells + 2)} ${padStart('waited', 9)}  held up by`, DIM]],
  ];
  const first = selected < 0 ? 0 : windowOf(selected, top, room, examples.length);
  examples.slice(first, first + room).forEach((wait, offset) => {
    const route = clean(traces.routes[traces.route[wait.trace]] ?? '');
    const id = shortId(traces.traceIds[wait.trace] ?? '?');
    const marked = first + offset === selected;
    const { blocker } = wait;
    const all = blocker ? causes.get(blocker.row) : undefined;
    const ahead = wait.queueDepth !== null && wait.queueDepth > 0 ? `; ${wait.queueDepth} ahead` : '';
    const by = blocker ? blockerText(blocker, session) : '–';
    const others =
      all && all.count > 1 ? `; it held up ${all.count} waits, ${duration(all.totalNs)} in all` : '';
    lines.push([
      [marked ? ' ▸ ' : '   '],
      [
        padEnd(`${id} ${route} ${duration(traces.durationNs[wait.trace])}`, nameCells),
        marked ? { selected: true } : undefined,
      ],
      [
        ` ${padStart(duration(wait.waitNs), 9)}  ${choose([`${by}${ahead}${others}`, `${by}${ahead}`, by, shortId(blocker?.traceId ?? '–')], columns - nameCells - 16)}`,
      ],
    ]);
  });
  return lines;
}
