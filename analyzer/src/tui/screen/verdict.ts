import type { ChainLink } from '../../infer/types.ts';
import { count, duration, number, percent, rate } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { bar } from '../draw/bar.ts';
import { box } from '../draw/box.ts';
import { plot } from '../draw/plot.ts';
import { choose, wrap } from '../draw/text.ts';
import { BOLD, beside, DIM, type Line, type Part } from '../line.ts';
import { capacityText, findResource, loadColor } from '../model/queues.ts';
import { confidenceSentence, loadSummary, risingWindows, verdictSentence } from '../model/verdict.ts';
import { cutMiddle, padEnd, padStart, width } from '../width.ts';

/** Charts lower than this show nothing; higher than the other they waste the screen. */
const LEAST_CHART_ROWS = 5;
const MOST_CHART_ROWS = 12;

/** The start screen: which queue filled first, what it fills, how sure, and what would help. */
export function verdictScreen(context: Context): Screenful {
  const { session, rows } = context;
  const { report } = session;
  const answer = answerLines(context);
  const chain = chainLines(context);
  const advice = adviceLines(context);
  const fixed = answer.length + chain.length + advice.length;
  const roomy = rows - fixed >= MOST_CHART_ROWS + 2;
  const room = Math.min(MOST_CHART_ROWS, rows - fixed - (roomy ? 3 : 0));
  const charts = room >= LEAST_CHART_ROWS ? chartLines(context, room) : [];
  const spare = rows - fixed - charts.length;
  const gap: Line[] = [[['']]];
  const lines: Line[] = [
    ...answer,
    ...(chain.length > 0 && spare >= 1 ? gap : []),
    ...chain,
    ...(charts.length > 0 && spare >= 2 ? gap : []),
    ...charts,
    ...(spare >= 3 ? gap : []),
    ...advice,
  ];
  const rejected = report.input.rejected.length;
  // Asked for early, so that `b` finds them there.
  if (report.verdict.first) context.data.waits(report.verdict.first.resource);
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

/** Rate on the x axis; only windows up to the highest rate, since what follows drains the backlog of what came before. */
function chartLines({ session, columns }: Context, rows: number): Line[] {
  const { verdict } = session.report;
  const points = risingWindows(session).map((window) => ({
    x: window.plannedPerSecond ?? window.receivedPerSecond,
    window,
  }));
  if (points.length < 2) return [];
  const xMax = points[points.length - 1].x;
  const knee = verdict.kneePerSecond;
  const half = Math.floor((columns - 2) / 2);
  const size = { columns: half - LABEL - 2, rows: rows - 2, xMax, markX: knee };
  const completed = points.map(({ x, window }) => [x, window.completedPerSecond] as const);
  const best = Math.max(...completed.map(([, value]) => value));
  const offered = points.map(({ x }) => [x, x] as const);
  const left = chart(
    knee === null
      ? [`completed/s: up to ${rate(best)}   dotted: offered`, `completed: up to ${rate(best)}`]
      : [
          `completed/s: flat at ${rate(knee).replace('/s', '')}   dotted: offered`,
          `completed/s: flat at ${rate(knee).replace('/s', '')}`,
        ],
    { top: number(xMax), bottom: '0' },
    plot([{ points: offered, dotted: true }, { points: completed }], { ...size, yMin: 0, yMax: xMax }),
    half,
  );
  const p99 = points.map(({ x, window }) => [x, window.latencyNs.p99] as const);
  const known = p99.flatMap(([, value]) => (value === null ? [] : [value]));
  const axis =
    knee === null
      ? [`0 … ${rate(xMax)} arriving`, rate(xMax)]
      : [`▲ knee ${rate(knee)} of ${rate(xMax)} arriving`, `▲ knee ${rate(knee)}`];
  const under: Line = [[`${' '.repeat(LABEL + 1)}${choose(axis, half - LABEL - 1)}`, DIM]];
  if (known.length === 0) return [...left, under];
  const top = Math.max(...known) * 1.2;
  const bottom = Math.max(1, Math.min(...known) / 1.5);
  const right = chart(
    [
      `p99: ${duration(known[0])} → ${duration(known[known.length - 1])}   all requests, log`,
      `p99: ${duration(known[0])} → ${duration(known[known.length - 1])}, log`,
    ],
    { top: duration(top), bottom: duration(bottom) },
    plot([{ points: p99 }], { ...size, yMin: bottom, yMax: top, log: true }),
    half,
  );
  return [...beside(left, right, half), ...beside([under], [under], half)];
}

/** Cells of a chart's y labels. */
const LABEL = 7;

function chart(
  titles: readonly string[],
  y: { readonly top: string; readonly bottom: string },
  body: readonly Line[],
  columns: number,
): Line[] {
  const lines: Line[] = [[[' '.repeat(LABEL + 1)], [choose(titles, columns - LABEL - 1)]]];
  body.forEach((line, index) => {
    const label = index === 0 ? y.top : index === body.length - 1 ? y.bottom : '';
    lines.push([[padStart(label, LABEL), DIM], ['┤', DIM], ...line]);
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
