import type { Requests } from '../aggregate/requests-types.ts';
import type { Timeline } from '../aggregate/windows.ts';
import type { ClosedLoop } from './facts.ts';

const FEWEST = 100;
const SAMPLES = 400;
/** This share of arrivals comes right after a completion. */
const FOLLOWS = 0.8;
const RIGHT_AFTER_NS = 2e6;
/** Coefficient of variation of the gaps between arrivals above which they are not evenly spaced. */
const UNEVEN_GAPS = 0.7;
/** Arrivals find this many fewer requests in flight than there are on average … */
const FEWER = 0.2;
/** … which is this many standard errors (one independent look in five arrivals). */
const ERRORS = 2.3;
const DEPENDENT = 5;

/**
 * Recognises a closed loop: arrivals follow completions. Either most requests start within 2 ms after another one
 * ended, though by chance far fewer would; or arrivals find fewer requests in flight than the average over time:
 * independent arrivals see time averages (PASTA), a user who is waiting for an answer cannot arrive.
 */
export function findClosedLoop(requests: Requests, timeline: Timeline): ClosedLoop | null {
  if (requests.count < FEWEST || timeline.sampling.kind !== 'none' || timeline.top < 0) return null;
  const ends = Float64Array.from(
    { length: requests.count },
    (_, i) => requests.startNs[i] + requests.durationNs[i],
  ).sort();
  let following = 0;
  let judged = 0;
  let users = 0;
  let fewer = 0;
  let weight = 0;
  let variance = 0;
  for (const [w, window] of timeline.windows.entries()) {
    if (window.requests < FEWEST / 2 || gapVariation(requests, w) < UNEVEN_GAPS) continue;
    judged++;
    const look = lookAt(requests, timeline, w, ends);
    const chance = 1 - Math.exp((-window.requests / window.seconds) * (RIGHT_AFTER_NS / 1e9));
    if (look.follow > FOLLOWS && chance < FOLLOWS / 2) following++;
    users = Math.max(users, look.most);
    const n = window.requests;
    fewer += (look.mean - look.seen) * n;
    variance += look.variance * DEPENDENT * n;
    weight += n;
  }
  if (judged === 0) return null;
  const difference = fewer / weight;
  const error = Math.sqrt(variance) / weight;
  const sees = difference > FEWER && difference > ERRORS * error;
  return sees || following >= 0.6 * judged ? { users } : null;
}

/** In flight over one window: on average over time, as arrivals find it, its variance and most. */
function lookAt(
  requests: Requests,
  { windows, inFlight }: Timeline,
  w: number,
  ends: Float64Array,
): { mean: number; seen: number; variance: number; most: number; follow: number } {
  const { startNs, endNs } = windows[w];
  let sum = 0;
  let squares = 0;
  let most = 0;
  for (let s = 0; s < SAMPLES; s++) {
    const n = inFlight.at(startNs + ((s + 0.5) / SAMPLES) * (endNs - startNs));
    sum += n;
    squares += n * n;
    most = Math.max(most, n);
  }
  const mean = sum / SAMPLES;
  let seen = 0;
  let follow = 0;
  let n = 0;
  for (let i = 0; i < requests.count; i++) {
    if (requests.window[i] !== w) continue;
    const at = requests.startNs[i];
    n++;
    seen += inFlight.at(at);
    if (endedWithin(ends, at - RIGHT_AFTER_NS, at)) follow++;
  }
  return {
    mean,
    seen: seen / n,
    variance: Math.max(0, squares / SAMPLES - mean * mean),
    most: Math.round(most),
    follow: follow / n,
  };
}

function endedWithin(ends: Float64Array, from: number, to: number): boolean {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] <= from) low = middle + 1;
    else high = middle;
  }
  return low < ends.length && ends[low] <= to;
}

function gapVariation(requests: Requests, window: number): number {
  let n = 0;
  let sum = 0;
  let squares = 0;
  let last = Number.NaN;
  for (let i = 0; i < requests.count; i++) {
    if (requests.window[i] !== window) continue;
    const gap = requests.startNs[i] - last;
    last = requests.startNs[i];
    if (Number.isNaN(gap)) continue;
    n++;
    sum += gap;
    squares += gap * gap;
  }
  const mean = n > 0 ? sum / n : 0;
  return mean > 0 ? Math.sqrt(Math.max(0, squares / n - mean * mean)) / mean : 0;
}
