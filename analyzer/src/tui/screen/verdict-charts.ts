import { duration, number, rate } from '../../report/units.ts';
import type { Context } from '../context.ts';
import { plot } from '../draw/plot.ts';
import { choose } from '../draw/text.ts';
import { beside, DIM, type Line } from '../line.ts';
import { risingWindows } from '../model/verdict.ts';
import { padStart } from '../width.ts';

/** Rate on the x axis; only windows up to the highest rate, since what follows drains the backlog of what came before. */
export function chartLines({ session, columns }: Context, rows: number): Line[] {
  const { verdict } = session.report;
  const byRate = new Map(
    risingWindows(session).map((window) => [window.plannedPerSecond ?? window.receivedPerSecond, window]),
  );
  // Of several steps at one rate the last is the settled one.
  const all = [...byRate].map(([x, window]) => ({ x, window }));
  const knee = verdict.kneePerSecond;
  const beyond = knee === null ? -1 : all.findIndex(({ x }) => x > knee);
  const points = all.filter(({ x }, index) => knee === null || index <= beyond || x <= knee * FAR);
  if (points.length < 2) return [];
  const xMax = points[points.length - 1].x;
  const more = all.slice(points.length).map(({ x }) => rate(x));
  const half = Math.floor((columns - 2) / 2);
  const size = { columns: half - LABEL - 2, rows: rows - 2, xMax, markX: knee };
  const good = points.map(({ x, window }) => [x, window.goodputPerSecond] as const);
  const best = Math.max(...good.map(([, value]) => value));
  // A deep overload would press the curve to the floor: the reference line leaves the chart at the top instead.
  const yMax = Math.min(xMax, best * HEADROOM) || xMax;
  const offered = [
    [Math.min(points[0].x, yMax), Math.min(points[0].x, yMax)] as const,
    [yMax, yMax] as const,
  ];
  const left = chart(
    knee === null
      ? [`good/s: up to ${rate(best)}   dotted: offered`, `good: up to ${rate(best)}`]
      : [
          `good/s: flat at ${rate(knee).replace('/s', '')}   dotted: offered`,
          `good/s: flat at ${rate(knee).replace('/s', '')}`,
        ],
    { top: number(yMax), bottom: '0' },
    plot([{ points: offered, dotted: true }, { points: good }], { ...size, yMin: 0, yMax }),
    half,
  );
  const p99 = points.map(({ x, window }) => [x, window.latencyNs.p99] as const);
  const known = p99.flatMap(([, value]) => (value === null ? [] : [value]));
  const axis =
    knee === null
      ? [`0 … ${rate(xMax)} arriving`, rate(xMax)]
      : [
          ...(more.length > 0
            ? [`▲ knee ${rate(knee)} of ${rate(xMax)} arriving; not shown: ${more.join(', ')}`]
            : []),
          `▲ knee ${rate(knee)} of ${rate(xMax)} arriving`,
          `▲ knee ${rate(knee)}`,
        ];
  const under: Line = [[`${' '.repeat(LABEL + 1)}${choose(axis, half - LABEL - 1)}`, DIM]];
  if (known.length === 0) return [...left, under];
  const top = Math.max(...known) * 1.2;
  const bottom = Math.max(1, Math.min(...known) / 1.5);
  const right = chart(
    [
      `p99: ${duration(known[0])} → ${duration(known[known.length - 1])}   all requests, log`,
      `p99: ${duration(known[0])} → ${duration(known[known.length - 1])}, log`,
      `p99 to ${duration(known[known.length - 1])}, log`,
    ],
    { top: duration(top), bottom: duration(bottom) },
    plot([{ points: p99 }], { ...size, yMin: bottom, yMax: top, log: true }),
    half,
  );
  return [...beside(left, right, half), ...beside([under], [under], half)];
}

/** Steps at this many times the knee would press all others against the left edge: the steps view has them. */
const FAR = 4;
/** How far above the best goodput its chart reaches. */
const HEADROOM = 1.6;
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
