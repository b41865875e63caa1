import type { Analysis } from '../../infer/analysis.ts';
import { type Advice, adviceFor } from './advice.ts';
import { accountedShare, type ServiceFacts, serviceFacts } from './facts.ts';

/** One service: what the export shows of it, and what to do. */
export interface Diagnosis {
  readonly facts: ServiceFacts;
  readonly advice: readonly Advice[];
}

/** @returns a diagnosis of each service that owns time or begins traces, the most time first. */
export function diagnose(analysis: Analysis): Diagnosis[] {
  return serviceFacts(analysis).map((facts) => ({ facts, advice: adviceFor(facts, analysis) }));
}

/** @returns services whose accounted share is below a limit (0..1). */
export function belowCoverage(diagnoses: readonly Diagnosis[], least: number): string[] {
  return diagnoses
    .filter(({ facts }) => (accountedShare(facts) ?? 1) < least)
    .map(({ facts }) => facts.service);
}

/** @returns the diagnoses as the JSON output has them. */
export function diagnosesJson(diagnoses: readonly Diagnosis[]): unknown {
  return diagnoses.map(({ facts, advice }) => ({
    service: facts.service,
    processes: facts.instances.size,
    spans: facts.spans,
    traces: facts.trees,
    ns: facts.ns,
    accountedShare: accountedShare(facts),
    recordedBy: [...facts.scopes.values()],
    measured: [...facts.segments].map(([segment, { spans, resources }]) => ({
      segment,
      spans,
      resources: [...resources].sort(),
    })),
    advice,
  }));
}
