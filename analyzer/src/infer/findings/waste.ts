import type { QueueModel } from '../../aggregate/queue-model.ts';
import { duration, percent } from '../numbers.ts';
import type { Finding } from './finding.ts';

/** Worth saying from this share of the held time on. */
const LEAST_SHARE = 0.01;

interface Wasted {
  readonly model: QueueModel;
  readonly holds: number;
  readonly ns: number;
  readonly share: number;
}

/** Holds that went on after the request had ended in failure: servers busy for nobody. */
export const wastedWork: Finding<Wasted> = {
  id: 'wasted-work',
  check({ models, activity, requests }) {
    const success = requests.outcomes.indexOf('success');
    return models.flatMap((model) => {
      let holds = 0;
      let ns = 0;
      let all = 0;
      const { queue, request, startNs, endNs, length } = activity.holds;
      for (let h = 0; h < length; h++) {
        if (queue[h] !== model.queue.index) continue;
        const i = request[h];
        all += endNs[h] - startNs[h];
        const gone = requests.startNs[i] + requests.durationNs[i];
        if (requests.outcome[i] === success || endNs[h] <= gone) continue;
        holds++;
        ns += endNs[h] - Math.max(gone, startNs[h]);
      }
      return all > 0 && ns / all >= LEAST_SHARE ? [{ model, holds, ns, share: ns / all }] : [];
    });
  },
  format: ({ model, holds, ns, share }) =>
    `wasted work: ${holds} holds of ${model.label} went on for ${duration(ns / holds)} on average after their request had failed (${percent(share)} of its held time)`,
  summary: (count) => (count === 1 ? 'queue with wasted work' : 'queues with wasted work'),
  resource: ({ model }) => model.label,
  values: ({ holds, ns, share }) => ({ holds, wastedNs: ns, share }),
};
