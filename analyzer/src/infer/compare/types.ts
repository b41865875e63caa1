import type { Statement } from '../types.ts';
import type { Difference } from './manifest.ts';

/** One number of two runs side by side; never subtracted or averaged where it is a percentile. */
export interface Pair {
  readonly what: string;
  readonly unit: 'ns' | 'perSecond' | 'share' | 'count' | 'text';
  readonly before: number | string | null;
  readonly after: number | string | null;
}

/** The same condition in both runs, and what was measured there. */
export interface SideBySide {
  /** `at 80/s planned` */
  readonly at: string;
  readonly pairs: readonly Pair[];
}

export type Met = 'met' | 'not met' | 'unknown';

export interface ChecklistLine {
  readonly line: string;
  readonly met: Met;
  readonly detail: string;
}

/** Whether the before run said in advance what the change would do. */
export interface PredictionCheck {
  /** The change as the before run's model understands it, e.g. `lock:campaign hold x0.21`; null when none fits. */
  readonly change: string | null;
  readonly predicted: { readonly low: number; readonly high: number } | null;
  readonly predictedNext: string | null;
  readonly measured: number | null;
  readonly measuredNext: string | null;
  readonly held: boolean | null;
  readonly text: string;
}

/** The evidence record of one change: two runs, in the order an experiment is told. */
export interface Comparison {
  readonly phenomenon: readonly Statement[];
  readonly evidence: readonly Statement[];
  readonly hypothesis: readonly Statement[];
  readonly change: {
    /** null: no manifests to compare. */
    readonly differences: readonly Difference[] | null;
    readonly text: string;
  };
  readonly sameLoad: readonly SideBySide[];
  readonly sameResource: readonly SideBySide[];
  readonly sameThroughput: readonly SideBySide[];
  readonly overload: readonly SideBySide[];
  readonly unitCosts: readonly Pair[];
  readonly sideEffects: readonly Statement[];
  readonly prediction: PredictionCheck;
  readonly checklist: readonly ChecklistLine[];
  readonly conclusion: string;
}
