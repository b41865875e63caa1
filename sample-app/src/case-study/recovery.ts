import type { StepResult } from '../load/step-recorder.ts';
import type { Sample } from './monitor.ts';

/** How the queues emptied after the load had fallen. */
export interface MeasuredRecovery {
  /** From the fall of the load until nobody waited for admission or for a connection, s. */
  readonly drainSeconds: number;
  /** Requests inside the service when the load fell / (knee - rate after it), s. */
  readonly predictedSeconds: number;
}

/** @returns null where there was no backlog to drain, or nobody looked in time. */
export function measureRecovery(
  steps: readonly StepResult[],
  samples: readonly Sample[],
  kneePerSecond: number | null,
): MeasuredRecovery | null {
  const recovery = steps.find((step) => step.phase === 'recovery');
  if (!recovery || kneePerSecond === null || kneePerSecond <= recovery.arrivalsPerSecond) return null;
  const fallNs = BigInt(recovery.startUnixNano);
  const after = samples.filter((sample) => BigInt(sample.timeUnixNano) >= fallNs && sample.service !== null);
  const first = after[0]?.service;
  const quiet = after.find(({ service }) => service!.waiting === 0 && service!.pool.waiting === 0);
  if (!first || !quiet || first.waiting + first.pool.waiting === 0) return null;
  return {
    drainSeconds: Number(BigInt(quiet.timeUnixNano) - fallNs) / 1e9,
    predictedSeconds: (first.active + first.waiting) / (kneePerSecond - recovery.arrivalsPerSecond),
  };
}
