import { OUTCOMES } from '@waitfall/instrumentation/conventions';
import type { Activity } from '../../aggregate/activity.ts';
import type { QueueModel } from '../../aggregate/queue-model.ts';
import { duration, percent } from '../numbers.ts';
import type { Finding } from './finding.ts';

/** Worth saying from this share of the acquisitions on. */
const LEAST_SHARE = 0.01;
const TIMEOUT = OUTCOMES.indexOf('timeout');

interface Outlived {
  readonly model: QueueModel;
  readonly timeoutNs: number;
  readonly share: number;
}

/**
 * Share of acquisitions whose wait + hold exceeds the acquire timeout: one such holder alone makes everybody behind
 * it time out. The timeout is read from the shortest wait that timed out.
 */
export const holdsOutliveTimeout: Finding<Outlived> = {
  id: 'holds-outlive-timeout',
  check({ models, activity }) {
    const found: Outlived[] = [];
    for (const model of models) {
      const timeoutNs = shortestTimeout(activity, model);
      if (timeoutNs === null) continue;
      const waits = activity.waits.ofQueue(model.queue.index);
      const waitOfRow = new Map(waits.map((wait) => [wait.row, wait.endNs - wait.startNs]));
      const holds = activity.holds.ofQueue(model.queue.index);
      const longer = holds.filter(
        (hold) => (waitOfRow.get(hold.row) ?? 0) + hold.endNs - hold.startNs > timeoutNs,
      );
      const share = holds.length > 0 ? longer.length / holds.length : 0;
      if (share >= LEAST_SHARE) found.push({ model, timeoutNs, share });
    }
    return found;
  },
  format: ({ model, timeoutNs, share }) =>
    `${percent(share)} of the holders of ${model.label} wait and hold longer than its acquire timeout of ${duration(timeoutNs)}: behind them others must time out`,
  summary: (count) =>
    count === 1 ? 'queue with holds beyond its timeout' : 'queues with holds beyond their timeout',
  resource: ({ model }) => model.label,
  values: ({ timeoutNs, share }) => ({ timeoutNs, share }),
};

/** @returns the shortest wait on a queue that timed out, null when none did. */
function shortestTimeout({ waits }: Activity, model: QueueModel): number | null {
  let shortest: number | null = null;
  for (let i = 0; i < waits.length; i++) {
    if (waits.queue[i] !== model.queue.index || waits.outcome[i] !== TIMEOUT) continue;
    shortest = Math.min(shortest ?? Number.POSITIVE_INFINITY, waits.endNs[i] - waits.startNs[i]);
  }
  return shortest;
}

interface Censored {
  readonly model: QueueModel;
  readonly count: number;
  readonly share: number;
}

/** Waits cut short by a timeout would have been longer: means and percentiles of waits are lower bounds. */
export const waitsCensored: Finding<Censored> = {
  id: 'waits-censored',
  check: ({ models, activity }) =>
    models.flatMap((model) => {
      const { waits } = activity;
      let all = 0;
      let count = 0;
      for (let i = 0; i < waits.length; i++) {
        if (waits.queue[i] !== model.queue.index) continue;
        all++;
        if (waits.outcome[i] === TIMEOUT) count++;
      }
      return count > 0 && count >= LEAST_SHARE * all ? [{ model, count, share: count / all }] : [];
    }),
  format: ({ model, count, share }) =>
    `${count} waits on ${model.label} (${percent(share)}) ended by timeout: its mean and p99 wait are "at least"`,
  summary: (count) => (count === 1 ? 'queue with censored waits' : 'queues with censored waits'),
  resource: ({ model }) => model.label,
  values: ({ count, share }) => ({ timedOut: count, share }),
};
