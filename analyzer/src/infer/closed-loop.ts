import type { Requests } from '../aggregate/requests-types.ts';
import type { Timeline } from '../aggregate/windows.ts';
import type { ClosedLoop } from './facts.ts';

const FEWEST = 100;
const SAMPLES = 200;
/** In flight varies by less than this share of what independent arrivals would show. */
const TOO_EVEN = 0.25;
/** This share of arrivals comes right after a completion. */
const FOLLOWS = 0.8;
const RIGHT_AFTER_NS = 2e6;
/** Coefficient of variation of the gaps between arrivals above which they are not evenly spaced. */
const UNEVEN_GAPS = 0.4;

/**
 * Recognises a closed loop: arrivals follow completions. In one window of steady load, most requests start within 2 ms
 * after another one ended, though by chance far fewer would; or the number in flight hardly varies (variance below a
 * quarter of its mean, which is what independent arrivals give at least) while the gaps between arrivals do.
 */
export function findClosedLoop(requests: Requests, timeline: Timeline): ClosedLoop | null {
  if (requests.count < FEWEST || timeline.sampling.kind !== 'none' || timeline.top < 0) return null;
  let found = 0;
  let judged = 0;
  let users = 0;
  const ends = Float64Array.from(
    { length: requests.count },
    (_, i) => requests.startNs[i] + requests.durationNs[i],
  ).sort();
  for (const [w, window] of timeline.windows.entries()) {
    if (window.requests < FEWEST / 2) continue;
    judged++;
    let follow = 0;
    for (let i = 0; i < requests.count; i++) {
      if (
        requests.window[i] === w &&
        endedWithin(ends, requests.startNs[i] - RIGHT_AFTER_NS, requests.startNs[i])
      )
        follow++;
    }
    const chance = 1 - Math.exp((-window.requests / window.seconds) * (RIGHT_AFTER_NS / 1e9));
    let sum = 0;
    let squares = 0;
    for (let s = 0; s < SAMPLES; s++) {
      const n = timeline.inFlight.at(
        window.startNs + ((s + 0.5) / SAMPLES) * (window.endNs - window.startNs),
      );
      sum += n;
      squares += n * n;
    }
    const mean = sum / SAMPLES;
    const variance = squares / SAMPLES - mean * mean;
    // Evenly spaced open arrivals look the same, and a plan of rates means an open generator.
    const even =
      timeline.plan === null &&
      mean >= 3 &&
      variance < TOO_EVEN * mean &&
      gapVariation(requests, w) > UNEVEN_GAPS;
    const follows = follow / window.requests > FOLLOWS && chance < FOLLOWS / 2;
    if (even || follows) {
      found++;
      users = Math.max(users, Math.round(mean));
    }
  }
  return judged > 0 && found >= Math.max(1, 0.6 * judged) ? { users } : null;
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
