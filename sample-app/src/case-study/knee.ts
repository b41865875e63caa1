import type { StepResult } from '../load/step-recorder.ts';

/** A step in which less than this share of what was offered was answered well is beyond the knee. */
const SATURATED_SHARE = 0.93;

/** What the generator saw of the capacity, independent of spans. */
export interface MeasuredKnee {
  /** Mean goodput of the steps beyond the knee, per second; null where no step went beyond it. */
  readonly perSecond: number | null;
  /** Highest goodput of any step, per second. */
  readonly topPerSecond: number;
  /** The first step beyond the knee. */
  readonly step: StepResult | null;
}

/** @returns the knee as goodput at saturation: offering more does not get more done. */
export function measureKnee(steps: readonly StepResult[]): MeasuredKnee {
  const rising = steps.filter(
    (step) => !step.repeated && step.phase !== 'warmup' && step.phase !== 'recovery',
  );
  const beyond = rising.filter((step) => step.goodputPerSecond < SATURATED_SHARE * step.arrivalsPerSecond);
  const sum = beyond.reduce((total, step) => total + step.goodputPerSecond, 0);
  return {
    perSecond: beyond.length === 0 ? null : sum / beyond.length,
    topPerSecond: Math.max(0, ...rising.map((step) => step.goodputPerSecond)),
    step: beyond[0] ?? null,
  };
}
