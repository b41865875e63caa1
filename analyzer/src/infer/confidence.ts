import type { Facts, Inference } from './facts.ts';
import { percent, short } from './numbers.ts';
import type { Verdict } from './types.ts';

/** Requests in the rising windows below which means are shaky. */
const MANY_REQUESTS = 500;
const CLEAR_MARGIN = 1.3;
/** So many trees without their callers for a request may hold what fills the queues. */
const LEAST_ORPHANS = 0.25;

/** How sure, and why: each weakness takes a point, strong ones two; none left is `high`. */
export function confidenceOf(facts: Facts, inference: Inference): Verdict['confidence'] {
  const { frame, requests } = facts;
  const reasons: string[] = [];
  let points = 0;
  const weak = (cost: number, reason: string) => {
    points += cost;
    reasons.push(reason);
  };
  if (inference.status === 'not-enough-data') return { level: 'low', reasons: [inference.because] };
  const n = frame.rising.reduce((sum, w) => sum + frame.timeline.windows[w].requests, 0);
  const { first, next } = inference;
  if (first) {
    const margin = next?.saturatesAt ? next.saturatesAt / first.rate : null;
    if (first.nearTies.length > 0) {
      weak(2, `near tie: relief of ${first.nearTies.map((m) => m.label).join(', ')} helps about as much`);
    } else if (margin !== null && margin < CLEAR_MARGIN) {
      weak(1, `the next queue, ${next?.label}, is only ${percent(margin - 1)} away`);
    } else if (margin !== null) {
      reasons.push(`the next queue, ${next?.label}, saturates at ${short(margin)} times the rate`);
    }
    if (first.rule === '7a') {
      weak(1, 'no queue is full by its own demand: the growth of a full hold was followed inwards');
    }
    if (first.model.capacityFrom === 'inferred') weak(1, `the capacity of ${first.model.label} was inferred`);
    if (first.model.demandFlat === false) weak(1, `own demand of ${first.model.label} changes with load`);
  } else if (next) {
    if (next.capacityFrom === 'inferred') weak(1, `the capacity of ${next.label} was inferred`);
    if (next.demandFlat === false) weak(1, `own demand of ${next.label} changes with load`);
  }
  if (facts.rebuilt) {
    weak(2, 'waits and holds were rebuilt from official spans, not stated by @waitfall/instrumentation');
  }
  const { sampling } = frame.timeline;
  if (sampling.kind === 'stated')
    weak(1, `sampled: ${percent(sampling.keptShare!)} of the requests, weighted by tracestate th`);
  if (sampling.kind === 'tail-fitted') {
    weak(2, 'tail sampling without th: weights were fitted to the load plan, rates are between steps');
  }
  if (sampling.kind === 'thinned')
    weak(2, `only ${percent(sampling.keptShare!)} of the planned requests are in the export`);
  if (sampling.kind === 'unstated') weak(3, 'traces were chosen by a tail sampler that states no weights');
  if (requests.count < MANY_REQUESTS)
    weak(1, `${requests.count} ${requests.count === 1 ? 'request is' : 'requests are'} few`);
  else {
    const windows = frame.timeline.windows.length;
    reasons.push(`${requests.count} requests in ${windows} ${windows === 1 ? 'window' : 'windows'}`);
  }
  if (inference.status === 'not-enough-load-variation') weak(1, inference.because);
  if (requests.substitutes) weak(2, 'no trace has a true root: orphan trees were used');
  const { counted, orphans } = facts.trees;
  if (orphans >= LEAST_ORPHANS * counted && orphans > 0) {
    weak(
      orphans > counted ? 2 : 1,
      `${orphans} trees beside ${counted} requests are left out: their callers are not in the input`,
    );
  }
  if (facts.closedLoop) weak(1, 'closed loop: arrivals follow completions, so the offered rate is not free');
  if (n === 0) weak(2, 'no rising window has requests');
  return { level: points === 0 ? 'high' : points === 1 ? 'medium' : 'low', reasons };
}
