import type { Analysis } from '../../../analyzer/src/infer/analysis.ts';
import type { Scenario } from '../../sim/scenario.ts';
import type { Truth } from '../../sim/truth.ts';
import { BASELINES, type Baseline, baselineAnswers } from './baselines.ts';

export interface WhatIfScore {
  readonly change: string;
  /** |predicted / true - 1| of the middle of the range; null: no prediction. */
  readonly error: number | null;
  readonly inRange: boolean;
  readonly nextRight: boolean;
  /** The same for "the old knee times the factor". */
  readonly naiveError: number;
}

/** One answer next to the truth. */
export interface Score {
  readonly seed: number;
  readonly family: string;
  readonly shape: string;
  readonly variant: string;
  readonly trueFirst: string;
  readonly trueKind: string;
  readonly acceptable: readonly string[];
  readonly trueKnee: number;
  readonly trueChain: readonly string[];
  readonly optionalChain: readonly string[];
  readonly saturates: boolean;
  readonly status: string;
  readonly answer: string | null;
  readonly kneeAnswer: number | null;
  readonly chainAnswer: readonly string[];
  readonly right: boolean;
  readonly acceptableRight: boolean;
  readonly clean: boolean;
  readonly chainExact: boolean;
  readonly kneeError: number | null;
  /** Next queue and its rate: for runs that stop below the knee. */
  readonly nextAnswer: string | null;
  readonly nextRight: boolean;
  readonly nextError: number | null;
  readonly confidence: string;
  readonly findings: readonly string[];
  readonly baselines: Readonly<Record<Baseline, string | null>>;
  readonly whatIf: readonly WhatIfScore[];
  readonly analyzeMs: number;
  readonly spans: number;
  /** Requests whose segments were compared with the simulator's own ledger, and those that differ by a ns or more. */
  readonly compared: number;
  readonly differing: number;
  readonly crash: string | null;
}

/** Name of a queue, with its service where that is not the one under test. */
function qualified(scenario: Scenario, service: string, resource: string): string {
  return service === scenario.service || service === '' ? resource : `${service}/${resource}`;
}

/**
 * @returns whether an answer means one of the given queues: official spans know a connection only by its server, and
 * an instrumented server has a queue of its own.
 */
export function names(answer: string | null, truths: readonly string[], scenario: Scenario): boolean {
  if (answer === null) return false;
  return truths.some((truth) => {
    if (answer === truth) return true;
    const remote = scenario.servers.find(({ address, port }) => truth === `${address}:${port}`);
    if (remote && (answer === remote.address || answer.endsWith(`/${remote.address}`))) return true;
    if (remote && answer.startsWith(`${remote.address}/`)) return true;
    if (!truth.startsWith('connect:') || !answer.startsWith('connect:')) return false;
    const pool = scenario.pools.find(({ name }) => truth === `connect:pg-pool:${name}`);
    const server = pool && scenario.servers[pool.server];
    return server !== undefined && answer === `connect:${server.address}:${server.port}`;
  });
}

export interface Case {
  readonly seed: number;
  readonly family: string;
  readonly shape: string;
  readonly variant: string;
  readonly saturates: boolean;
  readonly truth: Truth;
  readonly scenario: Scenario;
  readonly analyzeMs: number;
  readonly spans: number;
  readonly compared: number;
  readonly differing: number;
}

export function score(item: Case, analysis: Analysis | null, crash: string | null): Score {
  const { truth, scenario, saturates } = item;
  const verdict = analysis?.verdict;
  const answer = verdict?.first ? qualified(scenario, verdict.first.service, verdict.first.resource) : null;
  // Links carry no service: the first one is the answer itself.
  const chainAnswer =
    verdict?.chain.map((link, i) => (i === 0 && answer !== null ? answer : link.resource)) ?? [];
  const acceptableRight = names(answer, truth.acceptable, scenario);
  const knee = verdict?.kneePerSecond ?? null;
  const next = nextOf(analysis, scenario);
  const allowed = [...truth.chain, ...truth.chainOptional, ...truth.acceptable];
  const required = truth.chain.filter((name) => !truth.acceptable.includes(name));
  return {
    seed: item.seed,
    family: item.family,
    shape: item.shape,
    variant: item.variant,
    trueFirst: truth.first.resource,
    trueKind: truth.first.kind,
    acceptable: truth.acceptable,
    trueKnee: truth.kneePerSecond,
    trueChain: truth.chain,
    optionalChain: truth.chainOptional,
    saturates,
    status: crash === null ? (verdict?.status ?? '') : 'crash',
    answer,
    kneeAnswer: knee,
    chainAnswer,
    right: names(answer, [truth.first.resource], scenario),
    acceptableRight,
    clean: truth.acceptable.length === 1,
    chainExact:
      acceptableRight &&
      chainAnswer.every((name) => names(name, allowed, scenario)) &&
      required.every((name) => chainAnswer.some((link) => names(link, [name], scenario))),
    kneeError: knee === null ? null : knee / truth.kneePerSecond - 1,
    nextAnswer: next?.resource ?? null,
    nextRight: names(next?.resource ?? null, truth.acceptable, scenario),
    nextError: next ? next.perSecond / truth.kneePerSecond - 1 : null,
    confidence: verdict?.confidence.level ?? '',
    findings: verdict?.findings.map(({ id }) => id) ?? [],
    baselines: analysis
      ? baselineAnswers(analysis.resources, analysis.windows)
      : (Object.fromEntries(BASELINES.map((name) => [name, null])) as Record<Baseline, null>),
    whatIf: analysis ? whatIfScores(truth, analysis, scenario) : [],
    analyzeMs: item.analyzeMs,
    spans: item.spans,
    compared: item.compared,
    differing: item.differing,
    crash,
  };
}

/** The queue said to saturate next; without a word, the lowest rate of the resource table. */
function nextOf(
  analysis: Analysis | null,
  scenario: Scenario,
): { resource: string; perSecond: number } | null {
  if (!analysis) return null;
  const { next, first } = analysis.verdict;
  if (next && !first) return { resource: next.resource, perSecond: next.saturatesAtPerSecond };
  let lowest: { resource: string; perSecond: number } | null = null;
  for (const row of analysis.resources) {
    if (row.saturatesAtPerSecond === null) continue;
    if (lowest && row.saturatesAtPerSecond >= lowest.perSecond) continue;
    lowest = {
      resource: qualified(scenario, row.service, row.resource),
      perSecond: row.saturatesAtPerSecond,
    };
  }
  return lowest;
}

function whatIfScores(truth: Truth, analysis: Analysis, scenario: Scenario): WhatIfScore[] {
  return truth.whatIf.map(({ change, kneePerSecond, next, factor }) => {
    const said = analysis.verdict.whatIf.find((w) => w.change === change);
    const range = said?.kneePerSecond ?? null;
    return {
      change,
      error: range ? Math.abs(Math.sqrt(range.low * range.high) / kneePerSecond - 1) : null,
      inRange: range !== null && kneePerSecond >= range.low * 0.98 && kneePerSecond <= range.high * 1.02,
      nextRight: names(said?.next?.resource ?? null, next, scenario),
      naiveError: Math.abs((truth.kneePerSecond * factor) / kneePerSecond - 1),
    };
  });
}
