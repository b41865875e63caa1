import { duration } from '../../load/format.ts';
import type { StepResult } from '../../load/step-recorder.ts';
import type { Children } from '../../run/children.ts';
import { say } from '../../run/command.ts';
import { runExperiment, startLabService } from '../lab.ts';
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

/** The downstream slows down: what does a bulkhead keep alive, and how much work is done for nobody? */
export async function slowDownstream(children: Children, downstream: string, runs: string): Promise<void> {
  const rows: string[][] = [];
  rows.push(await measure(children, downstream, runs, SHAPES[0]!, FAST_MS));
  for (const shape of SHAPES) rows.push(await measure(children, downstream, runs, shape, SLOW_MS));
  for (const line of table(HEADER, rows)) say(line);
}

async function measure(
  children: Children,
  downstream: string,
  runs: string,
  { mode, size, queue }: Bulkhead,
  ms: number,
): Promise<string[]> {
  let wasted: number | null = null;
  const name = mode === 'none' ? mode : `${mode} ${size}`;
  const args = [downstream, mode, String(size), String(queue), String(SLOTS)];
  const run = await runExperiment(
    children,
    {
      name: `bulkheads-${ms === FAST_MS ? 'fast' : 'slow'}-${name.replace(' ', '-')}`,
      runs,
      load: {
        name: `${name}, downstream ${ms} ms`,
        timeoutMs: TIMEOUT_MS,
        steps: [{ phase: 'steady', arrivalsPerSecond: RATE, seconds: SECONDS }],
        requests: [
          { name: 'order', share: 1 - PLAIN_SHARE, method: 'GET', path: `/order?ms=${ms}`, route: '/order' },
          { name: 'plain', share: PLAIN_SHARE, method: 'GET', path: '/plain' },
        ],
      },
      start: () => startLabService(children, 'orders', new URL('server.ts', import.meta.url), args),
      warmUpPath: `/order?ms=1`,
      afterLoad: async ({ url }) => {
        const response = await fetch(`${url}/wasted`);
        wasted = ((await response.json()) as { wasted: number }).wasted;
      },
    },
    false,
  );
  return row(name, ms, run.load.steps[0]!, wasted);
}

function row(name: string, ms: number, step: StepResult, wasted: number | null): string[] {
  const { order, plain } = step.requests as Record<'order' | 'plain', StepResult['requests'][string]>;
  return [
    name,
    `${ms} ms`,
    `${order.succeeded} of ${order.planned}`,
    String(order.rejected),
    String(order.timedOut),
    wasted === null ? '-' : String(wasted),
    `${plain.succeeded} of ${plain.planned}`,
    duration(plain.latencyFromPlannedNs.p99),
  ];
}
