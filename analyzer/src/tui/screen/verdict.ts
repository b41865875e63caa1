import { count, duration, number, rate } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { strip } from '../draw/strip.ts';
import { choose, pack, wrap } from '../draw/text.ts';
import { BOLD, DIM, type Line, type Part } from '../line.ts';
import { bySegment, partsOf, segmentText } from '../model/segments.ts';
import {
  confidenceSentence,
  demandSentence,
  loadSummary,
  notTheCause,
  requestsText,
  stepsAroundKnee,
  verdictSentence,
  whatToDo,
} from '../model/verdict.ts';
import { suspects } from '../to-blocker.ts';
import { clean, cutMiddle, padStart, width } from '../width.ts';
import { chainLines, roomLines } from './verdict-chain.ts';
import { chartLines } from './verdict-charts.ts';

/** Charts lower than this show nothing; higher than the other they waste the screen. */
const LEAST_CHART_ROWS = 5;
const MOST_CHART_ROWS = 12;

/** The start screen: which queue filled first, what it fills, how sure, and what would help. */
export function verdictScreen(context: Context): Screenful {
  const { session, rows, data } = context;
  const { report } = session;
  const answer = answerLines(context);
  const chain = chainLines(context);
  const queues = chain.length > 0 ? chain : roomLines(context, Math.max(3, Math.min(8, rows - 14)));
  const advice = adviceLines(context);
  const fixed = answer.length + queues.length + advice.length;
  const roomy = rows - fixed >= MOST_CHART_ROWS + 2;
  const room = Math.min(MOST_CHART_ROWS, rows - fixed - (roomy ? 3 : 0));
  const charts = room >= LEAST_CHART_ROWS ? chartLines(context, room) : [];
  const spare = rows - fixed - charts.length;
  const gap: Line[] = [[['']]];
  const lines: Line[] = [
    ...answer,
    ...(queues.length > 0 && spare >= 1 ? gap : []),
    ...queues,
    ...(charts.length > 0 && spare >= 2 ? gap : []),
    ...charts,
    ...(spare >= 3 ? gap : []),
    ...advice,
  ];
  for (const block of [kneeLines(context), reasonLines(context, rows - lines.length - 1)]) {
    if (block.length > 0 && lines.length + block.length + 1 <= rows) lines.push(...gap, ...block);
  }
  const rejected = report.input.rejected.length;
  // Asked for early, so that `b` finds them there.
  for (const resource of suspects(data).slice(0, 3)) data.waits(resource);
  return {
    heading: [
      [` ${cutMiddle(clean(session.title), 40)}`, BOLD],
      [` · ${loadSummary(session)} · ${requestsText(report.requests.count)}`, DIM],
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
  const lines: Line[] = [[[' '], mark, [clean(choose(verdictSentence(session), room)), BOLD]]];
  if (verdict.status === 'saturated') {
    const demand = demandSentence(session);
    if (demand.length > 0) lines.push([[' '], mark, [clean(choose(demand, room))]]);
  } else {
    const because = verdict.evidence[0];
    if (because)
      for (const text of wrap(clean(because.text), room).slice(0, 2)) lines.push([[' '], mark, [text]]);
    lines.push([[' '], mark, [choose(whatToDo(session), room)]]);
  }
  const sure = choose(confidenceSentence(session), room - 7);
  lines.push([[' '], mark, [clean(sure)], ['  c why', DIM]]);
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
      [clean(choose([change.text, then, short], room))],
    ]);
  });
  const out = notTheCause(session);
  if (out.length > 0) {
    const long = pack(
      out.map((item) => clean(item.long)),
      ' · ',
      room,
    );
    const short = pack(
      out.map((item) => clean(item.short)),
      ' · ',
      room - 9,
    );
    const text = long.shown >= Math.min(out.length, 2) ? long.text : `${short.text} on their own`;
    lines.push([[' Not it    ', DIM], [width(text) <= room ? text : long.text || short.text]]);
  }
  const finding = verdict.findings[0];
  if (finding && roomy)
    wrap(clean(finding.text), room)
      .slice(0, 2)
      .forEach((text, index) => {
        lines.push([[index === 0 ? ' Note      ' : '           ', DIM], [text]]);
      });
  return lines;
}

/** Where the mean request spent its time on both sides of the knee. */
function kneeLines({ session, columns, theme }: Context): Line[] {
  const { below, above } = stepsAroundKnee(session);
  if (!below || !above) return [];
  const title = [
    ' Where the time of the mean request went, on both sides of the knee',
    ' The mean request, on both sides of the knee',
  ];
  const lines: Line[] = [[[choose(title, columns), DIM]]];
  for (const window of [below, above]) {
    const parts = bySegment(partsOf(window.segments)).map((part) => ({
      color: part.segment,
      label: `${segmentText(part.segment)} ${duration(part.meanNs)}`,
      value: part.meanNs,
    }));
    const { bar, legend } = strip(parts, columns - 30, theme);
    lines.push([
      [
        ` at ${padStart(rate(window.receivedPerSecond), 8)}, mean ${padStart(duration(window.latencyNs.mean), 9)} `,
      ],
      ...bar,
    ]);
    lines.push([[' '.repeat(28)], ...legend]);
  }
  return lines;
}

/** The evidence in full, as far as a large screen has room for it. */
function reasonLines({ session, columns }: Context, rows: number): Line[] {
  if (rows < 3 || session.report.verdict.status !== 'saturated') return [];
  const lines: Line[] = [[[' Why   (c shows all of it)', DIM]]];
  for (const { text } of session.report.verdict.evidence) {
    const parts = wrap(clean(text), Math.min(150, columns - 8));
    if (lines.length + parts.length > rows) break;
    parts.forEach((part, index) => {
      lines.push([[index === 0 ? '   · ' : '     ', DIM], [part]]);
    });
  }
  return lines.length > 1 ? lines : [];
}
