import { demands, idleLatencyNs } from './demand.ts';
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
  /** Rate of the same service before a change that can only help; the search starts just above it. */
  readonly before?: number;
}

const WARM_UP = 0.3;
/** A service keeps up when it answers all it is sent but for the chance of a run of n requests. */
const keepsUp = (n: number): number => 1 - Math.max(0.012, 2 / Math.sqrt(n));
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
  const share = keepsUp(requests * (1 - WARM_UP));
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
    if (n < MIN_CLASS || done >= share * n) continue;
    behindIn += n;
    behindOut += done;
  }
  const keptUp = behindIn === 0 && allOut >= share * allIn;
  const answered = behindIn > 0 ? behindOut / behindIn : allIn > 0 ? allOut / allIn : 1;
  // The rate that really came: bursts make it differ from the planned one.
  const offeredPerSecond = (allIn * 1e9) / (durationNs - from);
  return {
    offeredPerSecond,
    sustainedPerSecond: keptUp ? offeredPerSecond : offeredPerSecond * Math.min(1, answered),
    keptUp,
  };
}

/**
 * @returns the highest rate the service sustains, measured just above it. Deep overload would say too little: work
 * on requests that will not be finished in time takes the place of work on those that could be.
 */
export function sustainedRate(scenario: Scenario, options: SustainedOptions): number {
  const bound = Math.min(...demands(scenario).map((demand) => demand.saturatesAtPerSecond));
  const inFlight = (bound * idleLatencyNs(scenario)) / 1e9;
  const requests = Math.max(options.requests, Math.round(TURNOVERS * inFlight));
  if (options.collapses) return bisect(scenario, bound, requests, options.before);
  if (scenario.admission?.queue === 0) {
    const tried = LOSS_LOADS.map((f) => throughputAt(scenario, f * bound, requests).sustainedPerSecond);
    return Math.max(...tried);
  }
  let low = 0;
  let high = { rate: Number.POSITIVE_INFINITY, sustained: Number.POSITIVE_INFINITY };
  let rate = options.before ? options.before * 1.05 : bound * 1.06;
  for (let i = 0; i < 7; i++) {
    const { offeredPerSecond, sustainedPerSecond, keptUp } = throughputAt(scenario, rate, requests);
    if (keptUp) low = Math.max(low, offeredPerSecond);
    else if (offeredPerSecond < high.rate) high = { rate: offeredPerSecond, sustained: sustainedPerSecond };
    if (high.rate < JUST_ABOVE * Math.max(low, high.sustained)) break;
    if (high.rate === Number.POSITIVE_INFINITY) rate *= 1.2;
    else rate = Math.sqrt(high.rate * Math.max(low, high.sustained));
  }
  return Math.max(low, high.rate === Number.POSITIVE_INFINITY ? low : high.sustained);
}

/**
 * A semaphore without a queue reaches its plateau only far above it, since gaps between arrivals are lost; where
 * something else is first, that may have collapsed by then. The best of these is the rate sustained.
 */
const LOSS_LOADS = [1, 1.15, 1.4, 1.8];
const JUST_ABOVE = 1.07;
/** A run replaces everything in flight at least this often: a small overload needs time to fill large queues. */
const TURNOVERS = 100;

function bisect(scenario: Scenario, bound: number, requests: number, before?: number): number {
  const above = 1.25 * bound;
  if (before !== undefined && !throughputAt(scenario, 1.03 * before, requests).keptUp) return before;
  let low = before ?? 0.2 * bound;
  let high = Math.max(above, 1.1 * low);
  for (let i = 0; i < 6 && high > 1.02 * low; i++) {
    const middle = (low + high) / 2;
    if (throughputAt(scenario, middle, requests).keptUp) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
