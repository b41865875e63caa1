import { duration } from '../../load/format.ts';
import type { StepResult } from '../../load/step-recorder.ts';
import { type ProcessState, processState } from '../../machine/process-state.ts';
import type { Children } from '../../run/children.ts';
import { say } from '../../run/command.ts';
import { type LabRun, runExperiment, startLabService } from '../lab.ts';
import { table } from '../table.ts';

/** Time of the downstream call, ms. */
const SERVICE_MS = 20;
const USERS = [20, 50];
const SECONDS = 2;

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
  'served/s',
  'at most',
  'answers/s',
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
  children: Children,
  downstream: string,
  runs: string,
): Promise<boolean> {
  const cells: Cell[] = [];
  for (const bulkhead of BULKHEADS) cells.push(...(await measure(children, downstream, runs, bulkhead)));
  for (const line of table(HEADER, cells.map(rowOf))) say(line);
  let plausible = true;
  for (const cell of cells) {
    const most = ceiling(cell.bulkhead);
    if (most === null) continue;
    if (cell.step.goodputPerSecond > most * 1.03) {
      plausible = false;
      say(
        `  FAILS  ${label(cell.bulkhead)}, ${cell.step.users} users: more served than size / service time allows`,
      );
    }
    if (answersPerSecond(cell.step) > most * 1.03) {
      say(
        `  note   ${label(cell.bulkhead)}, ${cell.step.users} users: ${answersPerSecond(cell.step).toFixed(0)} answers/s are more than ` +
          `size / service time allows (${most.toFixed(0)}/s): a table that counts answers counts rejections`,
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

function answersPerSecond(step: StepResult): number {
  return (step.succeeded + step.rejected) / SECONDS;
}

async function measure(
  children: Children,
  downstream: string,
  runs: string,
  bulkhead: Bulkhead,
): Promise<Cell[]> {
  const states: ProcessState[] = [];
  const { mode, size, queue } = bulkhead;
  const args = [downstream, mode, String(size), String(queue), '1000'];
  const run: LabRun = await runExperiment(
    children,
    {
      name: `bulkheads-${label(bulkhead).replace(' ', '-')}`,
      runs,
      load: {
        name: label(bulkhead),
        model: 'closed',
        backoffMs: SERVICE_MS,
        steps: [
          { phase: 'warmup', users: USERS[0]!, seconds: 0.5 },
          ...USERS.map((users) => ({ phase: 'steady' as const, users, seconds: SECONDS })),
        ],
        requests: [
          { name: 'order', share: 1, method: 'GET', path: `/order?ms=${SERVICE_MS}`, route: '/order' },
        ],
      },
      // Not instrumented: this table is about what a bulkhead costs.
      start: () => startLabService(children, 'orders', new URL('server.ts', import.meta.url), args),
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
    step.goodputPerSecond.toFixed(0),
    most === null ? '-' : most.toFixed(0),
    answersPerSecond(step).toFixed(0),
    duration(step.latencyFromSentNs.p50),
    duration(step.latencyFromSentNs.p99),
    `${((100 * step.rejected) / Math.max(1, step.started)).toFixed(0)} %`,
    cpu == null ? '-' : `${(cpu * 100).toFixed(0)} %`,
    switchesPerSecond === null ? '-' : switchesPerSecond.toFixed(0),
    threads === null ? '-' : String(threads),
    memoryBytes === null ? '-' : `${(memoryBytes / 2 ** 20).toFixed(0)} MiB`,
  ];
}
