import type { ChainLink } from '../../infer/types.ts';
import { count, duration, number, percent, rate } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { bar } from '../draw/bar.ts';
import { box } from '../draw/box.ts';
import { plot } from '../draw/plot.ts';
import { choose, wrap } from '../draw/text.ts';
import { BOLD, beside, DIM, type Line, type Part } from '../line.ts';
import { capacityText, findResource, loadColor } from '../model/queues.ts';
import { confidenceSentence, loadSummary, verdictSentence } from '../model/verdict.ts';
import { cutMiddle, padEnd, padStart, width } from '../width.ts';

/** The start screen: which queue filled first, what it fills, how sure, and what would help. */
export function verdictScreen(context: Context): Screenful {
  const { session, columns, rows } = context;
  const { report } = session;
  const answer = answerLines(context);
  const chain = chainLines(context);
  const advice = adviceLines(context);
  const room = rows - answer.length - (chain.length > 0 ? chain.length + 1 : 0) - advice.length - 1;
  const charts = room >= 6 ? chartLines(context, Math.min(room, 12)) : [];
  const lines: Line[] = [...answer];
  if (chain.length > 0) lines.push([['']], ...chain);
  if (charts.length > 0) lines.push(...charts);
  const filler = rows - lines.length - advice.length;
  if (filler > 0 && columns >= 100) lines.push([['']]);
  lines.push(...advice);
  const rejected = report.input.rejected.length;
  return {
    heading: [
      [` ${cutMiddle(session.title, 40)}`, BOLD],
      [` · ${loadSummary(session)} · ${count(report.requests.count)} requests`, DIM],
    ],
    aside: [[rejected === 0 ? '' : `${count(rejected)} rejected, see 6 `, { fg: 'warn' }]],
    lines,
    copy: verdictSentence(session)[0],
  };
}

function answerLines({ session, columns }: Context): Line[] {
  const { verdict } = session.report;
  const mark: Part = [
    '▌',
    { fg: verdict.status === 'saturated' ? 'bad' : verdict.status === 'not-saturated' ? 'ok' : 'warn' },
  ];
  const room = columns - 3;
  const lines: Line[] = [[[' '], mark, [choose(verdictSentence(session), room), BOLD]]];
  const first = verdict.evidence[0];
  if (first) for (const text of wrap(first.text, room).slice(0, 2)) lines.push([[' '], mark, [text]]);
  const [long, short] = confidenceSentence(session);
  const sure = width(long) <= room - 7 ? long : short;
  lines.push([[' '], mark, [sure], ['  c why', DIM]]);
  return lines;
}

/** The chain as boxes where there is room, else one line. */
function chainLines(context: Context): Line[] {
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
  if (boxColumns < 18) return [[[` ${caption}`, DIM]], oneLine(context, chain)];
  let block: Line[] = [];
  let used = 0;
  shown.forEach((link, index) => {
    const next = queueBox(context, link, index, boxColumns);
    if (index === 0) {
      block = next;
      used = boxColumns;
      return;
    }
    const share = link.share === null ? '' : percent(link.share);
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
    inner >= 24
      ? `wait  ${padEnd(duration(at?.meanWaitNs), 8)} p99 ${duration(at?.p99WaitNs)}`
      : `wait  ${duration(at?.meanWaitNs)}`,
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

function oneLine({ columns }: Context, chain: readonly ChainLink[]): Line {
  const parts: string[] = [];
  chain.forEach((link, index) => {
    if (index > 0) parts.push(link.share === null ? '━▶' : `━${percent(link.share)}▶`);
    parts.push(`${index + 1} ${link.resource}`);
  });
  return [[` ${choose([parts.join(' '), chain.map((link) => link.resource).join(' ▶ ')], columns - 1)}`]];
}

function chartLines({ session, columns }: Context, rows: number): Line[] {
  const { windows, verdict } = session.report;
  if (windows.length < 2) return [];
  const points = windows
    .map((window) => ({ x: window.plannedPerSecond ?? window.receivedPerSecond, window }))
    .sort((a, b) => a.x - b.x);
  const xMax = points[points.length - 1].x;
  const knee = verdict.kneePerSecond;
  const half = Math.floor((columns - 3) / 2);
  const inner = half - 7;
  const best = Math.max(...windows.map((window) => window.completedPerSecond));
  const left = chart(
    knee === null
      ? `completed/s: up to ${rate(best)}`
      : `completed/s: flat at ${rate(knee).replace('/s', '')}`,
    { top: xMax, bottom: 0, unit: number },
    plot(
      [
        { points: points.map(({ x }) => [x, x]), dotted: true },
        { points: points.map(({ x, window }) => [x, window.completedPerSecond]) },
      ],
      {
        columns: inner,
        rows: rows - 3,
        xMax,
        yMin: 0,
        yMax: xMax,
        markX: knee,
      },
    ),
    half,
  );
  const p99 = points.map(({ x, window }) => [x, window.latencyNs.p99] as const);
  const values = p99.flatMap(([, value]) => (value === null ? [] : [value]));
  if (values.length === 0) return left;
  const top = Math.max(...values) * 1.2;
  const bottom = Math.max(1, Math.min(...values) / 1.5);
  const right = chart(
    `p99: ${duration(values[0])} → ${duration(values[values.length - 1])}, log`,
    { top, bottom, unit: duration },
    plot([{ points: p99 }], {
      columns: inner,
      rows: rows - 3,
      xMax,
      yMin: bottom,
      yMax: top,
      log: true,
      markX: knee,
    }),
    half,
  );
  const axis =
    knee === null ? `0 … ${rate(xMax)} arriving` : `▲ knee ${rate(knee)} of ${rate(xMax)} arriving`;
  const under: Line = [
    [`       ${padEnd(choose([axis, rate(xMax)], half - 7), half - 7)} `],
    [`       ${choose([axis, rate(xMax)], half - 7)}`],
  ];
  return [...beside(left, right, half), under.map(([text]): Part => [text, DIM])];
}

function chart(
  title: string,
  y: { top: number; bottom: number; unit: (value: number) => string },
  body: readonly Line[],
  columns: number,
): Line[] {
  const lines: Line[] = [[[`     ${choose([title], columns - 5)}`]]];
  body.forEach((line, index) => {
    const label = index === 0 ? y.unit(y.top) : index === body.length - 1 ? y.unit(y.bottom) : '';
    lines.push([[padStart(label, 6), DIM], ['┤', DIM], ...line]);
  });
  return lines;
}

function adviceLines({ session, columns, rows }: Context): Line[] {
  const { verdict } = session.report;
  const room = columns - 11;
  const lines: Line[] = [];
  const roomy = rows >= 30 && columns >= 100;
  verdict.whatIf.slice(0, roomy ? 3 : 2).forEach((change, index) => {
    const range = change.kneePerSecond;
    const short = range ? `${change.change} → ${number(range.low)}–${rate(range.high)}` : change.change;
    const then = change.next ? `${short}, then ${change.next.resource}` : short;
    lines.push([
      [index === 0 ? ' What if   ' : '           ', DIM],
      [choose([change.text, then, short], room)],
    ]);
  });
  const out = verdict.ruledOut.map((statement) => statement.text);
  if (out.length > 0) {
    let text = out[0];
    for (const other of out.slice(1)) if (width(`${text} · ${other}`) <= room) text = `${text} · ${other}`;
    lines.push([
      [' Not it    ', DIM],
      [
        width(text) <= room
          ? text
          : choose(
              [
                verdict.ruledOut
                  .map((s) => s.resource ?? '')
                  .filter(Boolean)
                  .join(' · '),
                '',
              ],
              room,
            ),
      ],
    ]);
  }
  const finding = verdict.findings[0];
  if (finding && roomy)
    wrap(finding.text, room)
      .slice(0, 2)
      .forEach((text, index) => {
        lines.push([[index === 0 ? ' Note      ' : '           ', DIM], [text]]);
      });
  return lines;
}
