import type { LoadPlan } from '../aggregate/load-plan.ts';
import type { Requests } from '../aggregate/requests-types.ts';
import type { Recovery, ResourceRow, WindowRow } from '../aggregate/types.ts';
import type { Sampling } from '../aggregate/weights.ts';
import type { Classes } from '../classify/types.ts';
import type { Input } from '../model/input.ts';
import type { Partition } from '../partition/types.ts';
import type { Forest } from '../tree/types.ts';
import type { Objective } from './objective.ts';
import type { Statement, Verdict } from './types.ts';

export interface AnalyzeOptions {
  /** Overrun that is clamped instead of examined, ns. Default 1 ms. */
  readonly toleranceNs?: number;
  readonly keepClocks?: boolean;
  /** Parsed content of `--load`; default: the only load plan found in the input. */
  readonly loadPlan?: unknown;
  /** Changes to predict, as `lock:campaign hold x0.25`. */
  readonly whatIf?: readonly string[];
  /** Default: the plan's objective, else `p99 < 200 ms` is not assumed and the p99 of low load is used. */
  readonly objective?: Objective;
  /** Only requests whose root starts in [from, to). */
  readonly fromUnixNano?: bigint;
  readonly toUnixNano?: bigint;
}

/** Everything one pass over the input gives; the report is made of it. */
export interface Analysis {
  readonly input: Input;
  readonly forest: Forest;
  readonly partition: Partition;
  readonly classes: Classes;
  readonly requests: Requests;
  readonly plan: LoadPlan | null;
  readonly sampling: Sampling;
  readonly windows: readonly WindowRow[];
  readonly resources: readonly ResourceRow[];
  readonly recovery: Recovery | null;
  readonly verdict: Verdict;
  /** What could not be used (a load plan that does not overlap the traces, ...), one sentence each. */
  readonly notes: readonly Statement[];
}

/**
 * Repairs the trees, cuts them into segments, classifies them, builds windows and the resource table, and infers
 * the first saturating queue. Pure: the same input gives the same answer.
 */
export function analyze(_input: Input, _options: AnalyzeOptions = {}): Analysis {
  throw new Error('analyze: not assembled yet');
}
