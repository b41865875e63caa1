import { type Frame, type QueueModel, queueCalled } from '../aggregate/queue-model.ts';
import { parseChange } from './change.ts';
import { changeNetwork } from './changed-network.ts';
import { perSecond } from './numbers.ts';
import { limiterOf } from './reliefs.ts';
import { type Bound, limitsOf, networkOf, type Present } from './service-network.ts';
import type { WhatIf } from './types.ts';

export { parseChange } from './change.ts';

/** The measured knee of the present first queue / the modelled one is trusted within this range. */
const MEASURED = { low: 0.75, high: 1.1 } as const;
/** What the network does not know (bursts, how holds scatter) moves the knee by about this much. */
const SPREAD = 0.1;
/** R is a mean of a sample: no knee lies above the lowest R by more than this. */
const RATE_ERROR = 0.05;

/**
 * What a change does to the knee: the lowest limit of the changed network of queues. Where the present first queue stays
 * the limit, its measured knee / its modelled one corrects the prediction; about other queues it says nothing.
 *
 * The range is 10 % both ways, and wider where a rate is known only between bounds (event loops). Its upper end is not
 * above the lowest R but for the error of R itself.
 */
export function predict(
  text: string,
  models: readonly QueueModel[],
  frame: Frame,
  present: Present | null,
): WhatIf {
  const change = parseChange(text);
  const changed = queueCalled(change.resource, models);
  if (!changed) {
    const names = models.map((model) => model.label).join(', ');
    return unknown(text, `no queue is called ${change.resource}; known: ${names || 'none'}`);
  }
  const networkAt = (bound: Bound) =>
    changeNetwork(networkOf(models, frame, present, bound), changed, change, bound);
  const after = (bound: Bound) => limitsOf(networkAt(bound));
  const limits = after('best');
  const lowest = limits[0];
  if (!lowest) return unknown(text, 'no queue has a known saturation rate, so nothing bounds the new knee');
  const known = present?.first === changed ? present.rate : changed.saturatesAt;
  if (known === null) {
    return unknown(
      text,
      `the saturation rate of ${changed.label} is unknown, so the change has no known effect`,
    );
  }
  if ('capacity' in change && changed.capacity === null) {
    return unknown(
      text,
      `how many servers ${changed.label} has now is unknown, so what ${change.capacity} would change is unknown too`,
    );
  }
  const limiter = limiterOf(networkAt('best'), lowest);
  const same = present !== null && limiter.model === present.first;
  const factor = same ? measuredOverModelled(models, frame, present) : 1;
  const center = lowest.perSecond * factor;
  const limitAt = (bound: Bound) => (after(bound)[0] ?? lowest).perSecond * factor;
  const low = Math.min(center, limitAt('low')) * (1 - SPREAD);
  const highest = after('high');
  const alone =
    Math.min(...highest.map(({ queue }) => queue.alonePerSecond!)) * Math.max(1, factor) * (1 + RATE_ERROR);
  const high = Math.max(center, Math.min(alone, Math.max(center, limitAt('high')) * (1 + SPREAD)));
  const byRate = [...limits].sort((a, b) => a.queue.alonePerSecond! - b.queue.alonePerSecond!);
  const runner = byRate.find((limit) => limit.queue.model !== limiter.model);
  const rate = limiter.alonePerSecond!;
  const { kind, name, label, queue } = limiter.model;
  const processes = 'capacity' in change ? changed.processes : 1;
  const each = processes > 1 ? ` in each of ${processes} processes` : '';
  return {
    change: text,
    kneePerSecond: { low, high },
    next: { kind, resource: name, service: queue.service, saturatesAtPerSecond: rate },
    text:
      `${text}${each}: knee at about ${perSecond(low)} to ${perSecond(high)}, then limited by ${label} ` +
      `(alone ${perSecond(rate)}${runner ? `; after it ${runner.queue.model.label} at ${perSecond(runner.queue.alonePerSecond!)}` : ''})`,
  };
}

/** What the service sustains today / what the network says it should, within {@link MEASURED}. */
function measuredOverModelled(models: readonly QueueModel[], frame: Frame, present: Present): number {
  const today = limitsOf(networkOf(models, frame, present, 'best'))[0];
  return Math.min(MEASURED.high, Math.max(MEASURED.low, present.kneePerSecond / today.perSecond));
}

function unknown(change: string, text: string): WhatIf {
  return { change, kneePerSecond: null, next: null, text: `${change}: ${text}` };
}
