import { duration } from '../../load/format.ts';
import type { ClassResult } from '../../load/step-recorder.ts';
import { analyze } from '../../run/analyzer.ts';
import { type Running, say } from '../../run/command.ts';
import { UNRECORDED } from '../../run/unrecorded.ts';
import { judge, type LabRun, runExperiment, startLabService } from '../lab.ts';
import { table } from '../table.ts';
import type { Bulkhead } from './matrix.ts';

const FAST_MS = 20;
const SLOW_MS = 300;
/** The client gives up before the slow answer comes. */
const TIMEOUT_MS = 250;
/** Slots of the whole service: enough for the fast downstream, too few for the slow one at this rate. */
const SLOTS = 30;
const RATE = 220;
const PLAIN_SHARE = 0.2;
const SECONDS = 2;

const SHAPES: readonly Bulkhead[] = [
  { mode: 'none', size: 0, queue: 0 },
  { mode: 'threads', size: 10, queue: 6 },
  { mode: 'semaphore', size: 10, queue: 0 },
];

const HEADER = [
  'bulkhead',
  'downstream',
  'orders served',
  'rejected',
  'timed out',
  'wasted calls',
  'plain served',
  'plain p99',
];

interface SlowRun {
  readonly run: LabRun;
  readonly shape: Bulkhead;
  readonly ms: number;
  /** Calls that were finished for nobody; null where the service did not say. */
  readonly wasted: number | null;
}

/**
 * The downstream slows down: what does a bulkhead keep alive, and how much work is done for nobody?
 * @returns false where an undisturbed run shows what cannot be.
 */
export async function slowDownstream(
  running: Running,
  downstream: string,
  runs: string,
  seconds: number = SECONDS,
): Promise<boolean> {
  const measured = [await measure(running, downstream, runs, SHAPES[0]!, FAST_MS, seconds)];
  for (const shape of SHAPES)
    measured.push(await measure(running, downstream, runs, shape, SLOW_MS, seconds));
  for (const line of table(HEADER, measured.map(rowOf))) say(line);
  await sayWhatTheReportSays(measured.at(-1)!);
  return measured.map((one) => judgeOne(one, seconds)).every((right) => right);
}

/** The counts that the experiment fixes: who gives up, and how many calls a bulkhead can waste at most. */
function judgeOne({ run, shape, ms, wasted }: SlowRun, seconds: number): boolean {
  const order = run.load.steps[0]!.requests['order']!;
  const name = nameOf(shape);
  if (ms === FAST_MS) return true;
  const nobody = judge(
    run,
    `${name}: no order is served by a call that takes longer than its client waits`,
    order.succeeded === 0,
    `${order.succeeded} served, ${order.timedOut} timed out, ${order.rejected} rejected`,
  );
  if (shape.mode === 'none' || wasted === null) return nobody;
  // What is in the bulkhead or its queue when the load ends is finished as well.
  const most = Math.ceil((shape.size * seconds * 1000) / SLOW_MS) + shape.size + shape.queue;
  const bounded = wasted <= most;
  return (
    judge(run, `${name}: wastes no more calls than its size lets through`, bounded, `${wasted} of ${most}`) &&
    nobody
  );
}

/** The service's own spans show the same waste: holds that went on after their client had gone. */
async function sayWhatTheReportSays({ run, shape }: SlowRun): Promise<void> {
  const { report } = await analyze(run.directory);
  const waste = report?.verdict.findings.find(({ text }) => text.startsWith('wasted work'));
  say(`  ${nameOf(shape)}, from its spans: ${waste?.text ?? 'no wasted work is named'}`);
}

async function measure(
  running: Running,
  downstream: string,
  runs: string,
  shape: Bulkhead,
  ms: number,
  seconds: number,
): Promise<SlowRun> {
  let wasted: number | null = null;
  const name = nameOf(shape);
  const args = [downstream, shape.mode, String(shape.size), String(shape.queue), String(SLOTS)];
  const run = await runExperiment(
    running,
    {
      name: `bulkheads-${ms === FAST_MS ? 'fast' : 'slow'}-${name.replace(' ', '-')}`,
      runs,
      load: {
        name: `${name}, downstream ${ms} ms`,
        timeoutMs: TIMEOUT_MS,
        steps: [{ phase: 'steady', arrivalsPerSecond: RATE, seconds }],
        requests: [
          { name: 'order', share: 1 - PLAIN_SHARE, method: 'GET', path: `/order?ms=${ms}`, route: '/order' },
          { name: 'plain', share: PLAIN_SHARE, method: 'GET', path: '/plain' },
        ],
      },
      start: (traceFile) =>
        startLabService(running, 'orders', new URL('server.ts', import.meta.url), args, traceFile),
      warmUpPath: `/order?ms=1`,
      afterLoad: async ({ url }) => {
        const response = await fetch(`${url}/wasted`, { headers: { traceparent: UNRECORDED } });
        wasted = ((await response.json()) as { wasted: number }).wasted;
      },
    },
    false,
  );
  return { run, shape, ms, wasted };
}

const nameOf = ({ mode, size }: Bulkhead): string => (mode === 'none' ? mode : `${mode} ${size}`);

function rowOf({ run, shape, ms, wasted }: SlowRun): string[] {
  const { order, plain } = run.load.steps[0]!.requests as Record<'order' | 'plain', ClassResult>;
  return [
    nameOf(shape),
    `${ms} ms`,
    `${order.succeeded} of ${order.planned}`,
    String(order.rejected),
    String(order.timedOut),
    wasted === null ? '-' : String(wasted),
    `${plain.succeeded} of ${plain.planned}`,
    duration(plain.latencyFromPlannedNs.p99),
  ];
}
