import type { Frame, QueueModel } from '../aggregate/queue-model.ts';
import { perSecond } from './numbers.ts';
import type { WhatIf } from './types.ts';

/** A change of one queue. */
export type Change =
  | { readonly resource: string; readonly hold: number }
  | { readonly resource: string; readonly visits: number }
  | { readonly resource: string; readonly capacity: number };

const FACTOR = /^(.+?)\s+(hold|visits)\s+[x×](\d+(?:\.\d+)?)$/;
const CAPACITY = /^(.+?)\s+capacity\s+(\d+(?:\.\d+)?)$/;

/**
 * Parses `lock:campaign hold x0.25`, `db:5432 visits x0.5` or `pg-pool:signup capacity 20`.
 *
 * @throws Error saying what is understood.
 */
export function parseChange(text: string): Change {
  const trimmed = text.trim();
  const factor = FACTOR.exec(trimmed);
  if (factor && Number(factor[3]) > 0) {
    const value = Number(factor[3]);
    return factor[2] === 'hold'
      ? { resource: factor[1], hold: value }
      : { resource: factor[1], visits: value };
  }
  const capacity = CAPACITY.exec(trimmed);
  if (capacity && Number(capacity[2]) > 0) return { resource: capacity[1], capacity: Number(capacity[2]) };
  throw new Error(
    `change '${text}' is not understood; write '<resource> hold x0.5', '<resource> visits x0.5' or '<resource> capacity 20'`,
  );
}

/** The measured knee is this much below the lowest R at most, above it at most (coupling of nested queues). */
const ETA = { low: 0.75, high: 1.03 } as const;
/** When another queue becomes the next limit, the two are coupled near it: measured, predictions were this much too high. */
const COUPLED = 0.9;
const SPREAD = 0.1;
/** A hold keeps at least this share of its own demand, however much of what it contains is made faster. */
const LEAST_DEMAND = 0.05;

/**
 * What a change does to the knee (facts of operational analysis: X ≤ min c / D). A capacity scales R of its queue; a
 * shorter hold also shortens every hold that contains it and every service inside it. New knee = lowest R × η, η =
 * present knee / R of the present first queue, in [0.75, 1.03]; × 0.9 when another queue becomes the limit. Printed
 * as a range of ± 10 %, never above the lowest R.
 */
export function predict(
  text: string,
  models: readonly QueueModel[],
  frame: Frame,
  present: { readonly first: QueueModel; readonly rate: number; readonly kneePerSecond: number } | null,
): WhatIf {
  const change = parseChange(text);
  const changed = models.find((model) => model.name === change.resource);
  if (!changed) {
    const known = models.map((model) => model.name).join(', ');
    return unknown(text, `no queue is called ${change.resource}; known: ${known || 'none'}`);
  }
  const rates = models
    .map((model) => ({ model, rate: rateAfter(model, changed, change, frame, present) }))
    .filter((entry): entry is { model: QueueModel; rate: number } => entry.rate !== null)
    .sort((a, b) => a.rate - b.rate);
  const lowest = rates[0];
  if (!lowest) return unknown(text, 'no queue has a known saturation rate, so nothing bounds the new knee');
  if (changed.saturatesAt === null) {
    return unknown(
      text,
      `the saturation rate of ${changed.name} is unknown, so the change has no known effect`,
    );
  }
  const eta = present ? Math.min(ETA.high, Math.max(ETA.low, present.kneePerSecond / present.rate)) : 1;
  const limit = present?.first ?? models.find((model) => model.saturatesAt !== null);
  const same = lowest.model === limit;
  const center = lowest.rate * eta * (same ? 1 : COUPLED);
  const low = center * (1 - SPREAD);
  const high = Math.min(lowest.rate * Math.max(1, eta), center * (1 + SPREAD));
  const runner = rates[1];
  return {
    change: text,
    kneePerSecond: { low, high },
    next: { kind: lowest.model.kind, resource: lowest.model.name, saturatesAtPerSecond: lowest.rate },
    text:
      `${text}: knee at about ${perSecond(low)} to ${perSecond(high)}, then limited by ${lowest.model.name} ` +
      `(alone ${perSecond(lowest.rate)}${runner ? `; after it ${runner.model.name} at ${perSecond(runner.rate)}` : ''})`,
  };
}

function unknown(change: string, text: string): WhatIf {
  return { change, kneePerSecond: null, next: null, text: `${change}: ${text}` };
}

/** R of one queue after the change; null = unknown before and after. */
function rateAfter(
  model: QueueModel,
  changed: QueueModel,
  change: Change,
  frame: Frame,
  present: { readonly first: QueueModel; readonly rate: number } | null,
): number | null {
  // Where the decision used another rate than R (rule 7a), that one is what limits the service today.
  const now =
    present?.first === model ? Math.min(present.rate, model.saturatesAt ?? present.rate) : model.saturatesAt;
  if (now === null) return null;
  if (model === changed) {
    if ('capacity' in change)
      return model.capacity === null ? null : (now * change.capacity) / model.capacity;
    return now / ('hold' in change ? change.hold : change.visits);
  }
  if ('capacity' in change || model.demandNs <= 0) return now;
  const saved = 1 - ('hold' in change ? change.hold : change.visits);
  const cutNs = saved * sharedDemand(model, changed, frame);
  return now * (model.demandNs / Math.max(LEAST_DEMAND * model.demandNs, model.demandNs - cutNs));
}

/** Own demand of `model`, ns per request, that lies in the own time of `changed`'s holds (or is its service). */
function sharedDemand(model: QueueModel, changed: QueueModel, frame: Frame): number {
  const served = model.serviceNs.get(changed.queue.index);
  if (served !== undefined) return served;
  if (changed.kind === 'eventloop' || changed.kind === 'downstream') return 0;
  if (model.kind === 'downstream') return changed.serviceNs.get(model.queue.index) ?? 0;
  if (model.kind === 'eventloop') return 0;
  const together = model.series.togetherNs.get(changed.queue.index);
  if (!together) return 0;
  let ns = 0;
  let n = 0;
  let heldNs = 0;
  for (const w of frame.pre) {
    n += frame.timeline.windows[w].requests;
    ns += together[w];
    heldNs += changed.series.holdNs[w];
  }
  if (n === 0 || heldNs === 0) return 0;
  // Of the time held together only the own part of the changed hold gets shorter.
  const own = Math.min(1, changed.demandNs / Math.max(1, changed.visits * changed.meanHoldNs));
  return Math.min(model.demandNs, (ns / n) * own);
}
