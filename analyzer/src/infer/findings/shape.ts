import { capacityOf } from '../../aggregate/capacity.ts';
import type { QueueModel } from '../../aggregate/queue-model.ts';
import { percent, perSecond, short } from '../numbers.ts';
import { lossesGrow, waitsGrow } from '../saturation.ts';
import type { Finding } from './finding.ts';

/** A capacity that cannot be what is stated. */
export const capacityContradicts: Finding<{ model: QueueModel; text: string }> = {
  id: 'capacity-contradicts',
  check: ({ models, frame }) =>
    models.flatMap((model) => {
      const { contradiction } = capacityOf(
        model.queue,
        model.lane,
        model.busiestKey !== null,
        frame.timeline,
      );
      return contradiction === null ? [] : [{ model, text: contradiction }];
    }),
  format: ({ text }) => text,
  summary: (count) =>
    count === 1 ? 'capacity that contradicts the waits' : 'capacities that contradict the waits',
  resource: ({ model }) => model.label,
};

interface Resized {
  readonly model: QueueModel;
  readonly least: number;
  readonly most: number;
}

/** A capacity that was changed while the service ran: all numbers are those of the larger one. */
export const capacityChanged: Finding<Resized> = {
  id: 'capacity-changed',
  check: ({ models }) =>
    models.flatMap((model): Resized[] => {
      const { leastCapacity, statedCapacity } = model.queue;
      const at = statedCapacity.findIndex((most, i) => (leastCapacity[i] ?? 0) < (most ?? 0));
      return at < 0 ? [] : [{ model, least: leastCapacity[at]!, most: statedCapacity[at]! }];
    }),
  format: ({ model, least, most }) =>
    `${model.label} states between ${least} and ${most} servers in one process: it was resized while it ran. ${most} are counted for the whole run; where there were fewer, it was fuller than said: limit the analysis to one size with --from and --to`,
  summary: (count) => (count === 1 ? 'queue that was resized' : 'queues that were resized'),
  resource: ({ model }) => model.label,
  values: ({ least, most }) => ({ leastCapacity: least, capacity: most }),
};

/** One process of several takes more than its share: it fills first, alone. */
export const hotInstance: Finding<QueueModel> = {
  id: 'hot-instance',
  check: ({ models }) => models.filter((model) => model.hottest?.alone === true),
  format: (model) =>
    `${model.hottest!.instance} takes ${short(model.hottest!.ratio)} times the mean demand on ${model.label} of ${model.queue.instances.length} instances: it saturates alone, before the others`,
  summary: (count) => (count === 1 ? 'queue with a hot instance' : 'queues with a hot instance'),
  resource: (model) => model.label,
  values: (model) => ({ instance: model.hottest!.instance, ratio: model.hottest!.ratio }),
};

/** A queue without waiting room: it loses instead of delaying. */
export const losesWithoutWaiting: Finding<QueueModel> = {
  id: 'loses-without-waiting',
  check: ({ models, frame }) => models.filter((model) => lossesGrow(model) && !waitsGrow(model, frame)),
  format: (model) =>
    `${model.label} loses without waiting: up to ${percent(model.topLoss)} of the arrivals were refused while waits stayed at ${short(model.topWaitNs / 1e6)} ms`,
  summary: (count) => (count === 1 ? 'queue that loses' : 'queues that lose'),
  resource: (model) => model.label,
  values: (model) => ({ lossShare: model.topLoss }),
};

export const closedLoop: Finding<{ users: number; rate: number }> = {
  id: 'closed-loop',
  check: ({ closedLoop: found, frame }) => (found ? [{ users: found.users, rate: frame.topRate }] : []),
  format: ({ users, rate }) =>
    `closed loop: arrivals follow completions (about ${users} users in flight), so ${perSecond(rate)} is what the service took, not what was offered; waits beyond it are hidden`,
  summary: () => 'closed loop',
  values: ({ users }) => ({ users }),
};

/** Coverage below which a verdict may miss the queue that matters. */
const LEAST_COVERAGE = 0.5;

export const lowCoverage: Finding<number> = {
  id: 'low-coverage',
  check({ parts, requests }) {
    const isUnaccounted = parts.keys.map((key) => key.segment === 'unaccounted');
    let own = 0;
    let all = 0;
    for (let i = 0; i < requests.count; i++) {
      const t = requests.tree[i];
      for (let e = parts.offset[t]; e < parts.offset[t + 1]; e++) {
        all += parts.ns[e];
        if (isUnaccounted[parts.key[e]]) own += parts.ns[e];
      }
    }
    return all > 0 && own / all > 1 - LEAST_COVERAGE ? [own / all] : [];
  },
  format: (share) =>
    `${percent(share)} of the request time is unaccounted: CPU, event loop or waits that nothing measures; a queue there cannot be named`,
  summary: () => 'low coverage',
  values: (share) => ({ unaccountedShare: share }),
};
