import type { Cohort, RequestGroup, SegmentRow, WindowRow } from '../../aggregate/types.ts';
import type { Block, Section } from '../document.ts';
import { section } from '../document.ts';
import type { Report } from '../types.ts';
import { duration, percent, rate } from '../units.ts';

/** Rows shown one by one; the others stand together in one row, so that every column still adds up. */
const MOST_ROWS = 12;
const BAR_CELLS = 12;

/** Where the time of the requests went: all of them, the slow ones, and the two steps around the knee. */
export function decompositionSections(report: Report): Section[] {
  return [
    ...section('Where the time goes (mean per request)', [meanTable(report.requests)]),
    ...section('How slow requests differ (means, which add up)', [cohortTable(report.requests)]),
    ...kneeSection(report),
  ];
}

function meanTable({ segments, latencyNs, count }: RequestGroup): Block | null {
  if (segments.length === 0) return null;
  const { shown, rest } = head(segments);
  const longest = Math.max(...shown.map((row) => row.share));
  const rows = shown.map((row) => [
    labelIn(segments, row),
    duration(row.meanNs),
    percent(row.share),
    bar(row.share / longest),
    duration(row.p99Ns),
    percent(row.count / count),
  ]);
  if (rest.length > 0) {
    const share = rest.reduce((sum, row) => sum + row.share, 0);
    const mean = rest.reduce((sum, row) => sum + row.meanNs, 0);
    rows.push([`${rest.length} smaller parts`, duration(mean), percent(share), bar(share / longest), '', '']);
  }
  rows.push(['all', duration(latencyNs.mean), percent(1), '', duration(latencyNs.p99), '']);
  return {
    type: 'table',
    columns: [
      { title: 'part', align: 'left' },
      { title: 'mean', align: 'right' },
      { title: 'share', align: 'right' },
      { title: '', align: 'left', spare: 2 },
      { title: 'p99', align: 'right' },
      { title: 'in requests', align: 'right', spare: 1 },
    ],
    rows,
  };
}

/** The name of a part, with its service where another service has a part of the same name. */
function labelIn(segments: readonly SegmentRow[], row: SegmentRow): string {
  const name = partName(row);
  const shared = segments.some((other) => other.service !== row.service && partName(other) === name);
  return shared ? `${name} (${row.service})` : name;
}

/** Below this many requests the slowest hundredth is one request: `waitfall trace` shows it better. */
const LEAST_REQUESTS = 100;

function cohortTable({ cohorts, count }: RequestGroup): Block | null {
  if (count < LEAST_REQUESTS) return null;
  const names = new Map<string, number>();
  for (const { segments } of cohorts) {
    for (const row of segments) {
      const name = partName(row);
      names.set(name, Math.max(names.get(name) ?? 0, row.meanNs));
    }
  }
  const ordered = [...names].sort(([, a], [, b]) => b - a).map(([name]) => name);
  const { shown, rest } = head(ordered);
  const of = (cohort: Cohort, wanted: readonly string[]) =>
    cohort.segments.reduce((sum, row) => (wanted.includes(partName(row)) ? sum + row.meanNs : sum), 0);
  const line = (title: string, wanted: readonly string[]) => [
    title,
    ...cohorts.map((cohort) => duration(of(cohort, wanted))),
  ];
  return {
    type: 'table',
    columns: [
      { title: 'part', align: 'left' },
      ...cohorts.map((cohort) => ({
        title: `${COHORT_TITLES[cohort.name]} (${cohort.count})`,
        align: 'right' as const,
      })),
    ],
    rows: [
      ...shown.map((name) => line(name, [name])),
      ...(rest.length > 0 ? [line(`${rest.length} smaller parts`, rest)] : []),
      ['all', ...cohorts.map((cohort) => duration(cohort.meanNs))],
    ],
  };
}

const COHORT_TITLES: Readonly<Record<Cohort['name'], string>> = {
  median: 'median',
  p99: 'p99',
  'slowest1%': 'slowest 1 %',
};

/** The decomposition of the last step below the knee beside that of the first above it. */
function kneeSection({ windows, verdict }: Report): Section[] {
  if (verdict.kneePerSecond === null) return [];
  const around = stepsAroundKnee(windows, verdict.kneePerSecond);
  if (around === null) return [];
  const { below, above } = around;
  const names = new Map<string, number>();
  for (const row of [...above.segments, ...below.segments]) {
    names.set(partName(row), Math.max(names.get(partName(row)) ?? 0, row.meanNs));
  }
  const { shown, rest } = head([...names].sort(([, a], [, b]) => b - a).map(([name]) => name));
  const of = (w: WindowRow, wanted: readonly string[]) =>
    w.segments.reduce((sum, row) => (wanted.includes(partName(row)) ? sum + row.meanNs : sum), 0);
  const line = (title: string, wanted: readonly string[]) => {
    const before = of(below, wanted);
    const after = of(above, wanted);
    return [
      title,
      duration(before),
      duration(after),
      `${after >= before ? '+' : ''}${duration(after - before)}`,
    ];
  };
  return section('Around the knee (mean per request)', [
    {
      type: 'table',
      columns: [
        { title: 'part', align: 'left' },
        { title: `at ${rate(below.receivedPerSecond)}`, align: 'right' },
        { title: `at ${rate(above.receivedPerSecond)}`, align: 'right' },
        { title: 'change', align: 'right' },
      ],
      rows: [
        ...shown.map((name) => line(name, [name])),
        ...(rest.length > 0 ? [line(`${rest.length} smaller parts`, rest)] : []),
        line('all', [...names.keys()]),
      ],
    },
  ]);
}

/** @returns the fastest step at or below the knee and the slowest above it, before the load fell; null without both. */
export function stepsAroundKnee(
  windows: readonly WindowRow[],
  kneePerSecond: number,
): { below: WindowRow; above: WindowRow } | null {
  const top = windows.reduce(
    (best, w, i) => (w.receivedPerSecond > windows[best].receivedPerSecond ? i : best),
    0,
  );
  const rising = windows.slice(0, top + 1).filter((w) => w.phase !== 'warmup' && w.latencyNs.n > 0);
  const below = rising.filter((w) => w.receivedPerSecond <= kneePerSecond);
  const above = rising.filter((w) => w.receivedPerSecond > kneePerSecond);
  if (below.length === 0 || above.length === 0) return null;
  return {
    below: below.reduce((a, b) => (b.receivedPerSecond > a.receivedPerSecond ? b : a)),
    above: above.reduce((a, b) => (b.receivedPerSecond < a.receivedPerSecond ? b : a)),
  };
}

/** @returns `lock_wait lock:campaign`, or the segment alone where it has no resource. */
export function partName({ segment, resource }: Pick<SegmentRow, 'segment' | 'resource'>): string {
  return resource === null ? segment : `${segment} ${resource}`;
}

function head<T>(rows: readonly T[]): { shown: readonly T[]; rest: readonly T[] } {
  // A single row left over would take the same line as the sentence about it.
  if (rows.length <= MOST_ROWS + 1) return { shown: rows, rest: [] };
  return { shown: rows.slice(0, MOST_ROWS), rest: rows.slice(MOST_ROWS) };
}

function bar(share: number): string {
  if (!(share > 0)) return '';
  return '█'.repeat(Math.max(1, Math.round(share * BAR_CELLS)));
}
