import { unitsOf } from './counting.ts';
import { WeightedValues } from './latency.ts';
import type { QueueModel } from './queue-model.ts';
import type { ResourceRow, ResourceWindow } from './types.ts';
import type { Timeline } from './windows.ts';

/** A change of wait or hold beyond this factor counts as growth. */
const GREW = 1.3;
const GREW_WAIT_NS = 0.5e6;
/** Parts of a hold smaller than this are not listed. */
const LEAST_SHARE = 0.01;

/** The resource table of the report, the nearest to saturation first. */
export function resourceRows(models: readonly QueueModel[], timeline: Timeline): ResourceRow[] {
  return models.map((model) => {
    const total = [...model.series.contents.values()].reduce((sum, part) => sum + part.ns, 0);
    return {
      resource: model.name,
      kind: model.kind,
      scope: model.queue.scope,
      service: model.queue.service,
      instances: model.processes,
      hottestRatio: model.hottest?.ratio ?? null,
      busiestKey: model.busiestKey,
      capacity: model.capacity,
      capacityFrom: model.capacityFrom,
      visitsPerRequest: model.visits > 0 ? model.visits : null,
      ownDemandNs: model.demandNs > 0 ? model.demandNs : null,
      demandFlat: model.demandFlat,
      saturatesAtPerSecond: model.saturatesAt,
      pattern: patternOf(model),
      windows: timeline.windows.map((_, w) => windowOf(model, timeline, w)),
      holdComposition: [...model.series.contents]
        .map(([what, part]) => ({ what, share: part.ns / total, movable: part.movable }))
        .filter((part) => part.share >= LEAST_SHARE)
        .sort((a, b) => b.share - a.share),
    };
  });
}

function windowOf(model: QueueModel, timeline: Timeline, w: number): ResourceWindow {
  const { series, lane } = model;
  const { seconds, startNs, endNs } = timeline.windows[w];
  const arrivals = series.arrivals[w];
  const known = arrivals > 0;
  const { ns, weights } = series.singleWaits[w];
  // Units of one request where each stands for one: ranks count in units.
  const units = weights?.map(unitsOf) ?? new Float64Array(ns.length).fill(unitsOf(1));
  const waits = new WeightedValues(ns, units);
  // Arrivals without a wait span waited 0.
  const zeros = Math.max(0, unitsOf(arrivals) - waits.units);
  const holds = lane.holds[w];
  const nestedNs = [...lane.nestedNs.values()].reduce((sum, sums) => sum + sums[w], 0);
  return {
    arrivalsPerSecond: arrivals / seconds,
    utilization: model.utilization[w],
    pWait: known && model.kind !== 'downstream' ? Math.min(1, series.waited[w] / arrivals) : null,
    meanWaitNs: known ? model.meanWaitNs[w] : null,
    p99WaitNs: known ? waits.percentile(99_000, zeros) : null,
    meanHoldNs: holds > 0 ? lane.holdNs[w] / holds : null,
    // Waits at servers are signed (rule 3): by chance their sum may be below 0.
    ownHoldNs: holds > 0 ? Math.max(0, lane.holdNs[w] - Math.max(0, nestedNs)) / holds : null,
    meanQueueDepth: model.kind === 'downstream' ? null : series.queuedNs[w] / (endNs - startNs),
    oldestAgeNs: series.oldestNs[w] > 0 ? series.oldestNs[w] : null,
    rejected: Math.round(series.rejected[w]),
    timedOut: Math.round(series.timedOut[w]),
  };
}

/** Wait against hold (docs/report.md): whose growth it is. null where one of them is unknown or only one window exists. */
function patternOf(model: QueueModel): string | null {
  const { lowHoldNs, topHoldNs, lowWaitNs, topWaitNs } = model;
  if (lowHoldNs === null || topHoldNs === null) return null;
  const wait = topWaitNs > GREW * lowWaitNs && topWaitNs - lowWaitNs > GREW_WAIT_NS;
  const hold = topHoldNs > GREW * lowHoldNs && topHoldNs - lowHoldNs > GREW_WAIT_NS;
  if (wait && hold) return 'wait and hold grow: follow the hold';
  if (wait) return 'wait grows, hold flat: its own capacity or arrivals';
  if (hold) return 'hold grows, wait flat: something inside is slower';
  return 'wait and hold flat';
}
