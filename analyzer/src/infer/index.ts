import { capacitiesOf } from './capacities.ts';
import { confidenceOf } from './confidence.ts';
import { decide } from './decide.ts';
import { evidenceOf, ruledOutOf } from './evidence.ts';
import type { Facts } from './facts.ts';
import { findingsOf } from './findings/index.ts';
import { whatIfs } from './proposals.ts';
import type { Verdict } from './types.ts';

/** The answer: which queue saturates first, what it fills, how sure that is, and what would move it. */
export function infer(facts: Facts, asked: readonly string[] = []): Verdict {
  const inference = decide(facts);
  const capacities = capacitiesOf(facts.rows, facts.frame, facts.objective);
  const { first, knee, chain, next, nextPerSecond } = inference;
  const kneePerSecond = knee?.perSecond ?? null;
  return {
    status: inference.status,
    first: first && {
      kind: first.model.kind,
      resource: first.model.name,
      service: first.model.queue.service,
      instance: first.model.hottest?.alone ? first.model.hottest.instance : null,
    },
    kneePerSecond,
    capacity: {
      objectivePerSecond: capacities.objectivePerSecond,
      kneePerSecond,
      firstRejectPerSecond: capacities.firstRejectPerSecond,
    },
    acceptable: first ? [first.model.name, ...first.nearTies.map((model) => model.name)] : [],
    chain: chain?.links ?? [],
    next: next && {
      kind: next.kind,
      resource: next.name,
      service: next.queue.service,
      saturatesAtPerSecond: nextPerSecond!,
    },
    confidence: confidenceOf(facts, inference),
    evidence: evidenceOf(facts, inference, capacities),
    ruledOut: ruledOutOf(facts, inference),
    findings: findingsOf(facts, inference),
    whatIf: inference.status === 'not-enough-data' ? [] : whatIfs(facts, inference, asked),
  };
}
