import { rankInterval } from '../../aggregate/latency.ts';
import type { Latency, OutcomeCounts, WindowRow } from '../../aggregate/types.ts';
import { type Column, paragraph, type Section, section } from '../document.ts';
import type { Recovery, Report } from '../types.ts';
import { count, duration, percent, rate } from '../units.ts';

const COLUMNS: readonly Column[] = [
  { title: 'at', align: 'right', spare: 4 },
  { title: 'phase', align: 'left', spare: 1, least: 8 },
  { title: 'planned', align: 'right' },
  { title: 'arrived', align: 'right', spare: 5 },
  { title: 'done', align: 'right' },
  { title: 'good', align: 'right', spare: 2 },
  { title: 'n', align: 'right', spare: 3 },
  { title: 'p50', align: 'right' },
  { title: 'p99', align: 'right' },
  { title: 'errors', align: 'right' },
  { title: 'backlog', align: 'left' },
];

/** One row a step of the load: what was planned, what came, what came out and how long it took. */
export function stepsSection(report: Report): Section[] {
  const { windows, recovery } = report;
  // A step of one request has no rate.
  if (windows.length === 0 || report.requests.count < 2) return [];
  const origin = windows[0].startUnixNano;
  const columns = COLUMNS.filter(
    ({ title }) =>
      (title !== 'planned' || windows.some((w) => w.plannedPerSecond !== null)) &&
      (title !== 'phase' || windows.some((w) => w.phase !== null)) &&
      (title !== 'backlog' || windows.some((w) => w.stable === false)),
  );
  return section('Load steps', [
    {
      type: 'table',
      columns,
      rows: windows.map((w) => {
        const row = stepRow(w, origin);
        return columns.map(({ title }) => row[title]);
      }),
      notes: notesOf(windows),
    },
    recovery === null ? null : paragraph(recoveryText(recovery)),
  ]);
}

function recoveryText({ drainNs, residual, predictedNs }: Recovery): string {
  const predicted = predictedNs === null ? '' : ` (predicted ${duration(predictedNs)})`;
  const drained =
    drainNs === null
      ? `the backlog had not drained when the load ended${predicted}`
      : `the backlog drained in ${duration(drainNs)}${predicted}`;
  return `Recovery: ${drained}, ${count(residual)} requests were left over.`;
}

function stepRow(w: WindowRow, origin: bigint): Record<string, string> {
  const failed = failures(w.byOutcome);
  const all = failed + w.byOutcome.success;
  return {
    at: `+${duration(w.startUnixNano - origin)}`,
    phase: w.phase ?? '',
    planned: rate(w.plannedPerSecond),
    arrived: rate(w.receivedPerSecond),
    done: rate(w.completedPerSecond),
    good: rate(w.goodputPerSecond),
    n: count(w.latencyNs.n),
    p50: duration(w.latencyNs.p50),
    p99: p99Text(w.latencyNs),
    errors: all === 0 ? percent(null) : failed === 0 ? '0' : percent(failed / all),
    backlog: w.stable === false ? 'grows' : '',
  };
}

/** How the numbers of the table are to be read, as far as it matters here. */
function notesOf(windows: readonly WindowRow[]): string[] {
  const fromPlan = windows.some((w) => w.segments.some(({ segment }) => segment === 'generator_wait'));
  const timedOut = windows.some((w) => w.byOutcome.timeout > 0);
  return [
    'done: completed, whatever the outcome; good: successful.',
    ...(fromPlan
      ? ['Latency counts from the planned arrival; generator_wait is the part before it was sent.']
      : []),
    ...(timedOut ? ['A request that timed out counts with the time it waited: it took at least that.'] : []),
    ...(windows.some((w) => isOpen(w.latencyNs)) ? [OPEN_NOTE] : []),
  ];
}

/** True when the values are too few to bound their p99 from above. */
function isOpen({ n }: Latency): boolean {
  return n > 0 && rankInterval(99_000, n).high === null;
}

/** A p99 with a mark where its confidence interval reaches the maximum. */
export function p99Text(latency: Latency): string {
  return `${duration(latency.p99)}${isOpen(latency) ? '*' : ''}`;
}

export const OPEN_NOTE =
  '* so few values that nothing bounds the true p99 from above: its 95 % interval reaches the maximum.';

/** @returns requests that did not succeed. */
export function failures(counts: OutcomeCounts): number {
  return counts.rejected + counts.timeout + counts.aborted + counts.error;
}
