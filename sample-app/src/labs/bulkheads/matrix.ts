import { duration } from '../../load/format.ts';
import type { StepResult } from '../../load/step-recorder.ts';
import { type ProcessState, processState } from '../../machine/process-state.ts';
import { type Running, say } from '../../run/command.ts';
import { type LabRun, runExperiment, startLabService } from '../lab.ts';
import { table } from '../table.ts';
import { secondsOf } from '../visits.ts';

/** Time of the downstream call, ms. */
const SERVICE_MS = 20;
const USERS = [20, 50];
const SECONDS = 1.5;

/** One bulkhead of the comparison. */
export interface Bulkhead {
  readonly mode: 'none' | 'threads' | 'semaphore';
  readonly size: number;
  readonly queue: number;
}

export const BULKHEADS: readonly Bulkhead[] = [
  { mode: 'none', size: 0, queue: 0 },
  { mode: 'threads', size: 10, queue: 6 },
  { mode: 'threads', size: 30, queue: 6 },
  { mode: 'semaphore', size: 10, queue: 0 },
  { mode: 'semaphore', size: 30, queue: 0 },
];

/** Of one bulkhead and one number of users; null = cannot be known here. */
interface Cell {
  readonly bulkhead: Bulkhead;
  readonly step: StepResult;
  readonly threads: number | null;
  readonly memoryBytes: number | null;
  readonly switchesPerSecond: number | null;
}

const HEADER = [
  'bulkhead',
  'users',
  'completed/s',
  'goodput/s',
  'at most',
  'p50',
  'p99',
  'rejected',
  'CPU',
  'switches/s',
  'threads',
  'memory',
];

/** Measures every bulkhead under every number of users and prints the table. @returns false where a number is impossible. */
export async function compareBulkheads(
  running: Running,
  downstream: string,
  runs: string,
  seconds: number = SECONDS,
): Promise<boolean> {
  const cells: Cell[] = [];
  for (const bulkhead of BULKHEADS)
    cells.push(...(await measure(running, downstream, runs, bulkhead, seconds)));
  for (const line of table(HEADER, cells.map(rowOf))) say(line);
  let plausible = true;
  for (const cell of cells) {
    const most = ceiling(cell.bulkhead);
    if (most === null) continue;
    if (cell.step.goodputPerSecond > most * 1.03) {
      plausible = false;
      say(
        `  FAILS  ${label(cell.bulkhead)}, ${cell.step.users} users: a goodput of ${cell.step.goodputPerSecond.toFixed(0)}/s is more than size / service time allows`,
      );
    }
    if (completedPerSecond(cell.step) > most * 1.03) {
      say(
        `  note   ${label(cell.bulkhead)}, ${cell.step.users} users: ${completedPerSecond(cell.step).toFixed(0)} completed/s are more than ` +
          `size / service time allows (${most.toFixed(0)}/s): a table that takes them for throughput counts rejections`,
      );
    }
  }
  return plausible;
}

/** Successes per second that a bulkhead of that size can do at most: size / service time. */
function ceiling({ mode, size }: Bulkhead): number | null {
  return mode === 'none' ? null : (size * 1000) / SERVICE_MS;
}

const label = ({ mode, size }: Bulkhead): string => (mode === 'none' ? mode : `${mode} ${size}`);

/** Answers of any kind, rejections too. */
function completedPerSecond(step: StepResult): number {
  return (step.succeeded + step.rejected) / secondsOf(step);
}

async function measure(
  running: Running,
  downstream: string,
  runs: string,
  bulkhead: Bulkhead,
  seconds: number,
): Promise<Cell[]> {
  const states: ProcessState[] = [];
  const { mode, size, queue } = bulkhead;
  const args = [downstream, mode, String(size), String(queue), '1000'];
  const run: LabRun = await runExperiment(
    running,
    {
      name: `bulkheads-${label(bulkhead).replace(' ', '-')}`,
      runs,
      load: {
        name: label(bulkhead),
        model: 'closed',
        backoffMs: SERVICE_MS,
        steps: [
          { phase: 'warmup', users: USERS[0]!, seconds: 0.5 },
          ...USERS.map((users) => ({ phase: 'steady' as const, users, seconds })),
        ],
        requests: [
          { name: 'order', share: 1, method: 'GET', path: `/order?ms=${SERVICE_MS}`, route: '/order' },
        ],
      },
      // Not instrumented: this table is about what a bulkhead costs.
      start: () => startLabService(running, 'orders', new URL('server.ts', import.meta.url), args),
      onMessage: (message, service) => {
        if ('step' in message) states.push(processState(service.child.pid!));
      },
    },
    false,
  );
  return run.load.steps.slice(1).map((step, index) => {
    const [before, after] = [states[index], states[index + 1]];
    return {
      bulkhead,
      step,
      threads: after?.threads ?? null,
      memoryBytes: after?.memoryBytes ?? null,
      switchesPerSecond: before && after ? switchRate(before, after) : null,
    };
  });
}

function switchRate(before: ProcessState, after: ProcessState): number | null {
  if (before.contextSwitches === null || after.contextSwitches === null) return null;
  return ((after.contextSwitches - before.contextSwitches) * 1000) / (after.atMs - before.atMs);
}

function rowOf({ bulkhead, step, threads, memoryBytes, switchesPerSecond }: Cell): string[] {
  const most = ceiling(bulkhead);
  const cpu = step.cpu['app'];
  return [
    label(bulkhead),
    String(step.users),
    completedPerSecond(step).toFixed(0),
    step.goodputPerSecond.toFixed(0),
    most === null ? '-' : most.toFixed(0),
    duration(step.latencyFromSentNs.p50),
    duration(step.latencyFromSentNs.p99),
    `${((100 * step.rejected) / Math.max(1, step.started)).toFixed(0)} %`,
    cpu == null ? '-' : `${(cpu * 100).toFixed(0)} %`,
    switchesPerSecond === null ? '-' : switchesPerSecond.toFixed(0),
    threads === null ? '-' : String(threads),
    memoryBytes === null ? '-' : `${(memoryBytes / 2 ** 20).toFixed(0)} MiB`,
  ];
}
