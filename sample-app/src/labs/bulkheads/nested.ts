import { duration } from '../../load/format.ts';
import { type Running, say } from '../../run/command.ts';
import type { ReportFile, ReportWindow } from '../../run/report-file.ts';
import { judge, type LabRun, printVerdict, runExperiment, startLabService } from '../lab.ts';
import { table } from '../table.ts';

/** 100 slots of the service feed a semaphore of 20 around a call of 100 ms, which can do 200/s. */
export const OUTER = 100;
export const INNER = 20;
export const CALL_MS = 100;
const RATES = [80, 120, 160, 200, 240];
const STEP_SECONDS = 2.5;
const BULKHEAD = 'bulkhead:price';
/** A call takes longer than it was asked to by what sending it takes; no more than this beyond the limit is noise. */
const NOISE = 1.03;

export async function nestedPools(
  running: Running,
  downstream: string,
  runs: string,
  seconds: number = STEP_SECONDS,
): Promise<LabRun> {
  const args = [downstream, 'semaphore', String(INNER), '1000', String(OUTER)];
  return runExperiment(
    running,
    {
      name: 'bulkheads-nested',
      runs,
      load: {
        name: `outer ${OUTER} over inner ${INNER}`,
        steps: RATES.map((arrivalsPerSecond) => ({ phase: 'ramp', arrivalsPerSecond, seconds })),
        requests: [{ name: 'order', share: 1, method: 'GET', path: `/order?ms=${CALL_MS}`, route: '/order' }],
      },
      start: (traceFile) =>
        startLabService(running, 'orders', new URL('server.ts', import.meta.url), args, traceFile),
      warmUpPath: '/order?ms=1',
    },
    false,
  );
}

/** Prints what the analyzer makes of the run. @returns false where it does not name what was forced. */
export async function judgeNested(run: LabRun): Promise<boolean> {
  const report = await printVerdict(run);
  if (report) printCeiling(report);
  const nesting = report?.verdict.findings.find(({ text }) => /admits \d+ requests while/.test(text));
  const names = report?.verdict.acceptable ?? [];
  const first = report?.verdict.first?.resource ?? 'none';
  const most = (INNER * 1000) / CALL_MS;
  const goodput = Math.max(0, ...(report?.windows ?? []).map((window) => window.goodputPerSecond));
  return [
    judge(
      run,
      'the verdict names the inner bulkhead',
      // All calls pass the bulkhead, so what its size limits can look like a limit of the downstream as well.
      names.includes(BULKHEAD),
      `${first} first, as good: ${names.join(', ') || 'none'}`,
    ),
    judge(
      run,
      'no step has more goodput than size / service time',
      goodput <= most * NOISE,
      `${goodput.toFixed(0)}/s, ${most.toFixed(0)}/s at most`,
    ),
    judge(
      run,
      'the report says that the outer limit is larger than the inner one',
      nesting !== undefined,
      nesting?.text ?? 'not said',
    ),
  ].every((right) => right);
}

const HEADER = [
  'offered/s',
  'received/s',
  'completed/s',
  'goodput/s',
  'mean',
  'outer wait',
  'inner wait',
  'the call',
  'all else',
];

/** Where the mean request of each step spent its time: the call stays, what it waits for grows. */
function printCeiling({ windows, resources }: ReportFile): void {
  const rows = windows.map((window) => {
    const outer = partOf(window, 'http.server');
    const inner = partOf(window, BULKHEAD);
    const call = window.segments
      .filter(({ segment }) => segment === 'downstream' || segment === 'network')
      .reduce((sum, { meanNs }) => sum + meanNs, 0);
    const all = window.segments.reduce((sum, { meanNs }) => sum + meanNs, 0);
    return [
      window.plannedPerSecond?.toFixed(0) ?? '-',
      window.receivedPerSecond.toFixed(0),
      window.completedPerSecond.toFixed(0),
      window.goodputPerSecond.toFixed(0),
      ...[all, outer, inner, call, all - outer - inner - call].map(duration),
    ];
  });
  for (const line of table(HEADER, rows)) say(`  ${line}`);
  const holds = resources.find(({ resource }) => resource === BULKHEAD)?.windows ?? [];
  const hold = holds.at(-1)?.meanHoldNs;
  if (hold)
    say(`  the ceiling: ${INNER} permits / ${duration(hold)} held = ${((INNER * 1e9) / hold).toFixed(0)}/s`);
}

function partOf({ segments }: ReportWindow, resource: string): number {
  return segments.reduce((sum, part) => (part.resource === resource ? sum + part.meanNs : sum), 0);
}
