import { demands } from './demand.ts';
import type { Blueprint } from './generate.ts';
import { planLoad } from './plan-load.ts';
import { holdFactor, relieve, withCapacity } from './relief.ts';
import { type QueueRef, queuesOf, type Scenario } from './scenario.ts';
import { simulate } from './simulate.ts';
import { sustainedRate } from './sustained.ts';

/** What relieving one queue does to the whole service. */
export interface Relief {
  readonly queue: QueueRef;
  /** Capacity after / before. */
  readonly factor: number;
  readonly sustainedPerSecond: number;
  /** ln(rate after / before) / ln(factor): 1 = the service follows this queue alone, 0 = it does not care. */
  readonly elasticity: number;
}

export interface WhatIfTruth {
  /** Spelt as the command line accepts it. */
  readonly change: string;
  /** By how much the changed queue is stronger. */
  readonly factor: number;
  readonly kneePerSecond: number;
  /** Queues that limit the changed service. */
  readonly next: readonly string[];
}

/** What is true of a scenario, found by changing it and running it again. */
export interface Truth {
  readonly kneePerSecond: number;
  /** The queue whose relief raises the sustained rate most. */
  readonly first: QueueRef;
  /** Queues that are as good an answer; more than one: a near tie. */
  readonly acceptable: readonly string[];
  readonly reliefs: readonly Relief[];
  /** False where the load plan stops below the knee. */
  readonly saturates: boolean;
  /** Queues whose waits vanish when `first` is relieved, with `first`. */
  readonly chain: readonly string[];
  /** Queues too close to the limit to insist on either way. */
  readonly chainOptional: readonly string[];
  readonly whatIf: readonly WhatIfTruth[];
}

export interface TruthOptions {
  /** Requests in each run that measures a rate. */
  readonly requests: number;
  /** Requests of the load plan. */
  readonly planned: number;
  readonly whatIf: boolean;
}

const RELIEF = 1.5;
/** Queues that could only saturate at this multiple of the lowest rate are not tried, but for the loop all pass through. */
const HOPELESS = 3;
/** A relief this close to the best (share of it, or in elasticity) is as good an answer. */
const NEAR_SHARE = 0.5;
const NEAR_ELASTICITY = 0.08;
/**
 * Where relief of no single queue helps more than this, several are full at once, and those whose own rate is this
 * close to the lowest are as good an answer: raising only one of them moves little.
 */
const TIED_ELASTICITY = 0.35;
const TIED_RATE = 1.06;
/** A wait belongs to the chain beyond both: per visit, and as a share of the growth of the mean latency. */
const CHAIN_NS = 1_500_000;
const CHAIN_SHARE = 0.04;
/** Within this factor of the limit it may be named or not. */
const CHAIN_UNSURE = 2;

/** @returns how the sustained rate answers to the relief of each queue. */
export function reliefs(scenario: Scenario, requests: number, collapses: boolean): Relief[] {
  // The unrelieved rate is measured the same way, with the same draws: what differs is the relief alone.
  const before = sustainedRate(scenario, { requests, collapses });
  const rates = demands(scenario);
  const lowest = Math.min(...rates.map((demand) => demand.saturatesAtPerSecond));
  return rates
    .filter(({ queue, saturatesAtPerSecond }) => {
      const limit = queue.kind === 'eventloop' ? 2 * HOPELESS : HOPELESS;
      return saturatesAtPerSecond < limit * lowest;
    })
    .map(({ queue }) => {
      const relieved = relieve(scenario, queue, RELIEF);
      const rate = sustainedRate(relieved.scenario, { requests, collapses, before });
      return {
        queue,
        factor: relieved.factor,
        sustainedPerSecond: rate,
        elasticity: Math.log(rate / before) / Math.log(relieved.factor),
      };
    })
    .sort((a, b) => b.elasticity - a.elasticity);
}

function nearBest(ranked: readonly Relief[], scenario: Scenario): string[] {
  const best = ranked[0].elasticity;
  const near = ranked
    .filter((r, i) => i === 0 || r.elasticity >= NEAR_SHARE * best || r.elasticity >= best - NEAR_ELASTICITY)
    .map((r) => r.queue.resource);
  if (best >= TIED_ELASTICITY) return near;
  const rates = demands(scenario);
  const lowest = Math.min(...rates.map((demand) => demand.saturatesAtPerSecond));
  const tied = rates.filter((demand) => demand.saturatesAtPerSecond <= TIED_RATE * lowest);
  return [...new Set([...near, ...tied.map((demand) => demand.queue.resource)])];
}

/** Measures everything that is asked of a verdict. @returns the truth and the planned scenario it belongs to. */
export function measureTruth(print: Blueprint, options: TruthOptions): { truth: Truth; scenario: Scenario } {
  const collapses = print.shape === 'retries' || print.shape === 'slowdown';
  const { requests } = options;
  const kneePerSecond = sustainedRate(print.scenario, { requests: requests * 3, collapses });
  const scenario = planLoad(print, kneePerSecond, options.planned);
  const ranked = reliefs(print.scenario, requests, collapses);
  const first = ranked[0].queue;
  const top = Math.max(...scenario.load.steps.map((step) => step.arrivalsPerSecond));
  const saturates = top > kneePerSecond;
  return {
    scenario,
    truth: {
      kneePerSecond,
      first,
      acceptable: nearBest(ranked, print.scenario),
      reliefs: ranked,
      saturates,
      ...(saturates ? chainOf(scenario, first, kneePerSecond) : { chain: [], chainOptional: [] }),
      whatIf: options.whatIf ? whatIfs(print.scenario, first, requests, collapses) : [],
    },
  };
}

/** Runs the same load plan, with the same draws, with and without the first queue relieved. */
function chainOf(
  scenario: Scenario,
  first: QueueRef,
  kneePerSecond: number,
): Pick<Truth, 'chain' | 'chainOptional'> {
  const free = relieve(scenario, first, 3).scenario;
  const before = simulate(scenario, { record: false, stopAtEnd: false });
  const after = simulate(free, { record: false, stopAtEnd: false });
  const { steps } = scenario.load;
  const post = [...steps.keys()].filter(
    (i) => steps[i].phase !== 'recovery' && steps[i].arrivalsPerSecond >= 0.97 * kneePerSecond,
  );
  const latency = (run: typeof before): number => {
    const of = run.requests.filter((r) => post.includes(r.step) && r.outcome === 'success');
    return of.reduce((sum, r) => sum + r.endNs - r.arrivalNs, 0) / Math.max(1, of.length);
  };
  const limit = Math.max(CHAIN_NS, CHAIN_SHARE * (latency(before) - latency(after)));
  const chain = [first.resource];
  const chainOptional: string[] = [];
  for (const queue of queuesOf(scenario)) {
    if (queue.resource === first.resource) continue;
    const a = before.stats.of(queue.resource, post);
    const b = after.stats.of(queue.resource, post);
    if (a.visits === 0) continue;
    const caused = a.waitNs / a.visits - b.waitNs / Math.max(1, b.visits);
    if (caused > CHAIN_UNSURE * limit) chain.push(queue.resource);
    else if (caused > limit / CHAIN_UNSURE) chainOptional.push(queue.resource);
  }
  return { chain, chainOptional };
}

function whatIfs(scenario: Scenario, first: QueueRef, requests: number, collapses: boolean): WhatIfTruth[] {
  const changes: { change: string; factor: number; scenario: Scenario }[] = [];
  // Nobody outside knows the capacity of a remote server, nor of handshakes that do not state it.
  const stated = first.kind === 'connection' && scenario.pools[first.index].handshakesStated;
  if (first.kind === 'pool' || first.kind === 'admission' || stated) {
    const capacity = demands(scenario).find((d) => d.queue.resource === first.resource)?.capacity ?? 1;
    const to = Math.max(capacity + 1, Math.round(capacity * 1.5));
    changes.push({
      change: `${first.resource} capacity ${to}`,
      factor: to / capacity,
      scenario: withCapacity(scenario, first, to),
    });
  }
  if (first.kind !== 'admission') {
    const changed = holdFactor(scenario, first, 0.5);
    changes.push({ change: `${first.resource} hold x0.5`, factor: 2, scenario: changed });
  }
  return changes.map(({ change, factor, scenario: changed }) => {
    const kneePerSecond = sustainedRate(changed, { requests, collapses });
    const next = nearBest(reliefs(changed, requests, collapses), changed);
    return { change, factor, kneePerSecond, next };
  });
}
