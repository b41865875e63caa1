import { OUTCOMES } from '@waitfall/instrumentation/conventions';
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
      const waits = activity.waits.filter((wait) => wait.queue === model.queue.index);
      const timedOut = waits.filter((wait) => wait.outcome === TIMEOUT);
      if (timedOut.length === 0) continue;
      const timeoutNs = Math.min(...timedOut.map((wait) => wait.endNs - wait.startNs));
      const waitOfRow = new Map(waits.map((wait) => [wait.row, wait.endNs - wait.startNs]));
      const holds = activity.holds.filter((hold) => hold.queue === model.queue.index);
      const longer = holds.filter(
        (hold) => (waitOfRow.get(hold.row) ?? 0) + hold.endNs - hold.startNs > timeoutNs,
      );
      const share = holds.length > 0 ? longer.length / holds.length : 0;
      if (share >= LEAST_SHARE) found.push({ model, timeoutNs, share });
    }
    return found;
  },
  format: ({ model, timeoutNs, share }) =>
    `${percent(share)} of the holders of ${model.name} wait and hold longer than its acquire timeout of ${duration(timeoutNs)}: behind them others must time out`,
  summary: (count) =>
    count === 1 ? 'queue with holds beyond its timeout' : 'queues with holds beyond their timeout',
  resource: ({ model }) => model.name,
  values: ({ timeoutNs, share }) => ({ timeoutNs, share }),
};

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
      const waits = activity.waits.filter((wait) => wait.queue === model.queue.index);
      const count = waits.filter((wait) => wait.outcome === TIMEOUT).length;
      return count > 0 && count >= LEAST_SHARE * waits.length
        ? [{ model, count, share: count / waits.length }]
        : [];
    }),
  format: ({ model, count, share }) =>
    `${count} waits on ${model.name} (${percent(share)}) ended by timeout: its mean and p99 wait are "at least"`,
  summary: (count) => (count === 1 ? 'queue with censored waits' : 'queues with censored waits'),
  resource: ({ model }) => model.name,
  values: ({ count, share }) => ({ timedOut: count, share }),
};
