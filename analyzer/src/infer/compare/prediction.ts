import type { Analysis } from '../analysis.ts';
import { percent, perSecond } from '../numbers.ts';
import type { WhatIf } from '../types.ts';
import { predict } from '../what-if.ts';
import type { NameOf } from './names-of-both.ts';
import type { PredictionCheck } from './types.ts';

/** A hold or capacity that changed by less did not change. */
const CHANGED = 0.1;
const HELD_TOLERANCE = 0.02;

/**
 * Checks the before run's model against the after run: what really changed at the before run's first queue (own hold,
 * visits, capacity) is put into its what-if, and the knee it gives is compared with the measured one.
 */
export function checkPrediction(before: Analysis, after: Analysis, nameOf: NameOf): PredictionCheck {
  const measured = after.verdict.kneePerSecond;
  const measuredNext = after.verdict.first && nameOf(after.verdict.first);
  const none = (text: string): PredictionCheck => ({
    change: null,
    predicted: null,
    predictedNext: null,
    measured,
    measuredNext,
    held: null,
    text,
  });
  const { first, kneePerSecond } = before.verdict;
  if (!first || kneePerSecond === null) {
    return none('the before run names no first queue, so it predicts nothing about a change');
  }
  const a = before.models.find(
    (model) => model.name === first.resource && model.queue.service === first.service,
  );
  const b = after.models.find(
    (model) => model.name === first.resource && model.queue.service === first.service,
  );
  if (!a) return none('the first queue of the before run is not in its resource table');
  if (!b || b.visits === 0)
    return none(`${nameOf(first)} is not used in the after run: the change removed the queue`);
  const change = changeOf(a.label, a, b);
  if (change === null) {
    return none(
      `neither own hold nor visits nor capacity of ${nameOf(first)} changed by more than ${percent(CHANGED)}: the change did not touch the first queue, so the knee should stay at ${perSecond(kneePerSecond)}`,
    );
  }
  const present = {
    first: a,
    rate: Math.min(a.saturatesAt ?? kneePerSecond, kneePerSecond / 0.75),
    kneePerSecond,
  };
  const said: WhatIf = predict(change, before.models, before.frame, present);
  const range = said.kneePerSecond;
  if (range === null) return { ...none(said.text), change };
  const beyond = measured === null && after.verdict.status === 'not-saturated' ? after.frame.topRate : null;
  const held =
    measured !== null
      ? measured >= range.low * (1 - HELD_TOLERANCE) && measured <= range.high * (1 + HELD_TOLERANCE)
      : beyond !== null
        ? beyond <= range.high
        : null;
  const found =
    measured !== null
      ? `measured ${perSecond(measured)}`
      : beyond !== null
        ? `the after run did not saturate up to ${perSecond(beyond)}`
        : 'the after run gives no knee';
  const predictedNext = said.next && nameOf(said.next);
  return {
    change,
    predicted: range,
    predictedNext,
    measured,
    measuredNext,
    held,
    text: `${change}: predicted ${perSecond(range.low)} to ${perSecond(range.high)}, then ${predictedNext ?? 'unknown'}; ${found}${measuredNext ? `, limited by ${measuredNext}` : ''}`,
  };
}

function changeOf(
  resource: string,
  a: Analysis['models'][number],
  b: Analysis['models'][number],
): string | null {
  const perVisit = (m: typeof a) => (m.visits > 0 ? m.demandNs / m.visits : 0);
  if (
    a.capacity !== null &&
    b.capacity !== null &&
    Math.abs(b.capacity / a.capacity - 1) > CHANGED &&
    a.kind !== 'lock'
  ) {
    return `${resource} capacity ${Math.max(1, Math.round(b.capacity / a.processes))}`;
  }
  const hold = perVisit(a) > 0 ? perVisit(b) / perVisit(a) : 1;
  const visits = a.visits > 0 ? b.visits / a.visits : 1;
  if (Math.abs(hold - 1) > CHANGED && Math.abs(Math.log(hold)) >= Math.abs(Math.log(visits))) {
    return `${resource} hold x${Math.max(0.001, hold).toFixed(3)}`;
  }
  if (Math.abs(visits - 1) > CHANGED) return `${resource} visits x${Math.max(0.001, visits).toFixed(3)}`;
  return null;
}
