import type { Frame, QueueModel } from '../aggregate/queue-model.ts';
import type { Requests } from '../aggregate/requests-types.ts';
import type { WindowRow } from '../aggregate/types.ts';
import { type Chain, findChain } from './chain.ts';
import { type FirstQueue, findFirst } from './first-queue.ts';
import { findKnee, type Knee } from './knee.ts';
import type { Verdict } from './types.ts';

export interface Facts {
  readonly models: readonly QueueModel[];
  readonly frame: Frame;
  readonly requests: Requests;
  readonly rows: readonly WindowRow[];
}

/** Everything inferred, before it is put into words. */
export interface Inference {
  readonly facts: Facts;
  readonly first: FirstQueue | null;
  readonly knee: Knee | null;
  readonly chain: Chain | null;
}

/** Rules 6 to 9. */
export function inferQueues(facts: Facts): Inference {
  const { models, frame, requests } = facts;
  const first = findFirst(models, frame);
  if (first === null) return { facts, first: null, knee: null, chain: null };
  const knee = findKnee(first.model, first.rate, models, frame);
  return { facts, first, knee, chain: findChain(first.model, knee.perSecond, models, frame, requests) };
}

/** The answer. */
export function infer(facts: Facts): Verdict {
  const { first, knee, chain } = inferQueues(facts);
  return {
    status: first ? 'saturated' : 'not-saturated',
    first: first && {
      kind: first.model.kind,
      resource: first.model.name,
      service: first.model.queue.service,
      instance: first.model.hottest?.alone ? first.model.hottest.instance : null,
    },
    kneePerSecond: knee?.perSecond ?? null,
    capacity: {
      objectivePerSecond: null,
      kneePerSecond: knee?.perSecond ?? null,
      firstRejectPerSecond: null,
    },
    acceptable: first ? [first.model.name, ...first.nearTies.map((m) => m.name)] : [],
    chain: chain?.links ?? [],
    next: null,
    confidence: { level: 'low', reasons: [] },
    evidence: [],
    ruledOut: [],
    findings: [],
    whatIf: [],
  };
}
