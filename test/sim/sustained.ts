import { demands } from './demand.ts';
import type { Scenario } from './scenario.ts';
import { simulate } from './simulate.ts';

/** How one long steady step went. */
export interface Throughput {
  readonly offeredPerSecond: number;
  /**
   * Rate the service sustains by this run: the offered rate times the share of arrivals that succeeded, over those
   * classes of requests that fell behind (all of them kept up: the offered rate itself).
   */
  readonly sustainedPerSecond: number;
  readonly keptUp: boolean;
}

export interface SustainedOptions {
  /** Requests of each run; the first part is warm-up and not counted. */
  readonly requests: number;
  /** Bisection on "does goodput keep up", for services whose throughput falls when overloaded (retries, wasted work). */
  readonly collapses: boolean;
}

const WARM_UP = 0.3;
/** A class keeps up when at least this share of its arrivals succeed in the measured part. */
const KEEPS_UP = 0.965;
/** Classes with fewer arrivals are judged together with the rest. */
const MIN_CLASS = 150;

/** Runs one steady step at a rate. */
export function throughputAt(scenario: Scenario, perSecond: number, requests: number): Throughput {
  const durationNs = Math.round((requests / perSecond) * 1e9);
  const run = simulate(
    {
      ...scenario,
      load: {
        arrivals: scenario.load.arrivals,
        burst: scenario.load.burst,
        closed: null,
        steps: [{ arrivalsPerSecond: perSecond, durationNs, phase: 'steady' }],
      },
    },
    { record: false, stopAtEnd: true },
  );
  const from = durationNs * WARM_UP;
  const arrived = new Map<number, number>();
  const succeeded = new Map<number, number>();
  const count = (map: Map<number, number>, key: number): void => void map.set(key, (map.get(key) ?? 0) + 1);
  for (const request of run.requests) {
    if (request.arrivalNs >= from) count(arrived, request.visitClass);
    if (request.outcome === 'success' && request.endNs >= from) count(succeeded, request.visitClass);
  }
  let behindIn = 0;
  let behindOut = 0;
  let allIn = 0;
  let allOut = 0;
  for (const [visitClass, n] of arrived) {
    const done = succeeded.get(visitClass) ?? 0;
    allIn += n;
    allOut += done;
    if (n < MIN_CLASS || done >= KEEPS_UP * n) continue;
    behindIn += n;
    behindOut += done;
  }
  const keptUp = behindIn === 0 && allOut >= KEEPS_UP * allIn;
  const share = behindIn > 0 ? behindOut / behindIn : allIn > 0 ? allOut / allIn : 1;
  return {
    offeredPerSecond: perSecond,
    sustainedPerSecond: keptUp ? perSecond : perSecond * Math.min(1, share),
    keptUp,
  };
}

/**
 * @returns the highest rate the service sustains, measured just above it. Deep overload would say too little: work
 * on requests that will not be finished in time takes the place of work on those that could be.
 */
export function sustainedRate(scenario: Scenario, options: SustainedOptions): number {
  const bound = Math.min(...demands(scenario).map((demand) => demand.saturatesAtPerSecond));
  if (options.collapses) return bisect(scenario, bound, options.requests);
  if (scenario.admission?.queue === 0) {
    return throughputAt(scenario, LOSS_OVERLOAD * bound, options.requests).sustainedPerSecond;
  }
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  let rate = bound * 1.08;
  let best = 0;
  for (let i = 0; i < 7; i++) {
    const { sustainedPerSecond, keptUp } = throughputAt(scenario, rate, options.requests);
    best = Math.max(best, sustainedPerSecond);
    if (keptUp) low = rate;
    else high = Math.min(high, rate);
    if (!keptUp && rate < JUST_ABOVE * sustainedPerSecond) break;
    if (high < JUST_ABOVE * low) break;
    if (high === Number.POSITIVE_INFINITY) rate *= 1.2;
    else rate = Math.sqrt(high * Math.max(low, best));
  }
  return best;
}

/** A semaphore without a queue reaches its plateau only far above it: below, gaps between arrivals are lost. */
const LOSS_OVERLOAD = 1.8;
const JUST_ABOVE = 1.07;

function bisect(scenario: Scenario, bound: number, requests: number): number {
  let low = 0.2 * bound;
  let high = 1.25 * bound;
  for (let i = 0; i < 6; i++) {
    const middle = (low + high) / 2;
    if (throughputAt(scenario, middle, requests).keptUp) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
