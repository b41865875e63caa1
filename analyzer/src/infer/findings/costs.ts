import { chance, FLAT } from '../../aggregate/flatness.ts';
import { demandOver, type Frame, type QueueModel, topWindows } from '../../aggregate/queue-model.ts';
import { duration, percent, perSecond, short } from '../numbers.ts';
import type { Finding } from './finding.ts';

/** Visits per request that grow by this factor towards the knee. */
const RETRIES = 1.15;
/** Windows whose rates differ by less are at one rate. */
const SAME_RATE = 1.1;

interface Changed {
  readonly model: QueueModel;
  readonly ratio: number;
  readonly visits: number | null;
}

/** Cost of a request that grows with load (and not only by more visits): the queue is not just fuller, it is slower. */
export const costGrowsWithLoad: Finding<Changed> = {
  id: 'cost-grows-with-load',
  check: ({ models }) =>
    models.flatMap((model) => {
      if (model.demandRatio === null || model.demandFlat !== false || model.demandRatio < 1) return [];
      const visits = model.visitsRatio;
      if (visits !== null && visits > RETRIES) return [];
      return [{ model, ratio: model.demandRatio, visits }];
    }),
  format: ({ model, ratio }) =>
    `cost per request grows with load at ${model.label}: own demand x ${short(ratio)} before the knee, so its rate alone is lower than at low load`,
  summary: (count) =>
    count === 1 ? 'queue whose cost grows with load' : 'queues whose cost grows with load',
  resource: ({ model }) => model.label,
  values: ({ ratio }) => ({ demandRatio: ratio }),
};

/** Visits that grow with load are repetitions: retries, or reconnections. */
export const retriesGrow: Finding<Changed> = {
  id: 'visits-grow-with-load',
  check({ models, frame, requests }) {
    if (requests.count === 0) return [];
    return models.flatMap((model) => {
      // Slices are not visits, and a pool opens connections as it needs them.
      if (model.kind === 'eventloop' || model.kind === 'connection') return [];
      const low = visitsOver(model, frame, frame.lows);
      const high = visitsOver(model, frame, topWindows(frame.rising));
      if (low.perRequest === 0 || high.perRequest === 0) return [];
      const ratio = high.perRequest / low.perRequest;
      const beyondChance = ratio - 1 > chance(low.visits, high.visits);
      return ratio > RETRIES && beyondChance ? [{ model, ratio, visits: high.perRequest }] : [];
    });
  },
  format: ({ model, ratio }) =>
    `visits to ${model.label} grow with load: retries x ${short(ratio)} a request compared with low load`,
  summary: (count) =>
    count === 1 ? 'queue visited more often under load' : 'queues visited more often under load',
  resource: ({ model }) => model.label,
  values: ({ ratio }) => ({ visitsRatio: ratio }),
};

interface Drift {
  readonly model: QueueModel;
  readonly ratio: number;
  readonly rate: number;
  readonly firstNs: number;
  readonly lastNs: number;
}

/** Own demand that grows with time at one and the same rate: data growth, caches, leaks. */
export const demandDrifts: Finding<Drift> = {
  id: 'demand-drifts',
  check({ models, frame, rows }) {
    const { windows } = frame.timeline;
    // Where a backlog grows, requests of one window are served in another.
    const steady = frame.rising.filter((w) => rows[w].stable !== false);
    const seen = (model: QueueModel, w: number) => Math.min(model.lane.holds[w], windows[w].requests);
    const found: Drift[] = [];
    for (const model of models) {
      let worst: Drift | null = null;
      for (const a of steady) {
        for (const b of steady) {
          if (windows[b].startNs <= windows[a].startNs) continue;
          const ra = windows[a].arrivalsPerSecond;
          const rb = windows[b].arrivalsPerSecond;
          if (Math.max(ra, rb) > SAME_RATE * Math.min(ra, rb)) continue;
          if (model.lane.holds[a] < 30 || model.lane.holds[b] < 30) continue;
          const first = demandOver(model.lane, null, [a], (w) => windows[w].requests);
          const last = demandOver(model.lane, null, [b], (w) => windows[w].requests);
          const ratio = first.demandNs > 0 ? last.demandNs / first.demandNs : 1;
          const least = Math.max(FLAT, chance(seen(model, a), seen(model, b)));
          if (
            Math.abs(ratio - 1) > least &&
            (worst === null || Math.abs(ratio - 1) > Math.abs(worst.ratio - 1))
          ) {
            worst = { model, ratio, rate: ra, firstNs: first.demandNs, lastNs: last.demandNs };
          }
        }
      }
      if (worst) found.push(worst);
    }
    return found;
  },
  format: ({ model, ratio, rate, firstNs, lastNs }) =>
    `own demand of ${model.label} drifts with time at an even ${perSecond(rate)}: ${duration(firstNs)} to ${duration(lastNs)} a request (${ratio > 1 ? '+' : ''}${percent(ratio - 1)})`,
  summary: (count) => (count === 1 ? 'queue whose demand drifts' : 'queues whose demand drifts'),
  resource: ({ model }) => model.label,
  values: ({ ratio }) => ({ demandRatio: ratio }),
};

function visitsOver(
  model: QueueModel,
  frame: Frame,
  windows: readonly number[],
): { visits: number; perRequest: number } {
  let visits = 0;
  let requests = 0;
  for (const w of windows) {
    visits += model.series.arrivals[w];
    requests += frame.timeline.windows[w].requests;
  }
  return { visits, perRequest: requests > 0 ? visits / requests : 0 };
}
