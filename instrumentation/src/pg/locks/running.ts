import type { Context } from '@opentelemetry/api';
import type { ObservedStatement } from '../sampler/observer.ts';
import type { CachedPlan } from '../sql/plan-cache.ts';
import type { Claim } from './claim.ts';
import type { Row } from './row.ts';

/** A statement between its call and its reply. */
export interface Running {
  readonly plan: CachedPlan;
  readonly callMs: number;
  /** Set once the statement's own span is known. */
  parent: Context;
  hasStatementSpan: boolean;
  readonly claims: readonly Claim[];
  /** Others were on their way with it: grants and ends are no replies to one another then. */
  isAhead: boolean;
  /** Rows of locks beyond transactions that it gives back. */
  readonly unlocks: readonly Row[] | 'all';
  /** What the sampler sees of it, where one runs. */
  seen?: ObservedStatement;
}
