import { idleLatencyNs } from './demand.ts';
import type { Blueprint } from './generate.ts';
import { exponential, Random } from './random.ts';
import type { LoadStep, Scenario } from './scenario.ts';

const MS = 1e6;

/** A step shorter than this many latencies shows the step before it. */
const LATENCIES_PER_STEP = 12;

/** Which part of the way to the knee and beyond a run covers. */
export type Coverage = 'rising' | 'below' | 'single';

/** @returns the steps of a run around a knee: rising past it, stopping at 0.5 to 0.72 of it, or one step there. */
export function planLoad(
  print: Blueprint,
  kneePerSecond: number,
  requests: number,
  coverage: Coverage = print.family === 'none' ? 'below' : 'rising',
): Scenario {
  const random = new Random(print.seed, 103);
  const reach = random.between(0.5, 0.72);
  const top = coverage === 'rising' ? random.between(1.25, 1.5) : reach;
  const bottom = random.between(0.22, 0.3);
  const n = coverage === 'single' ? 1 : 8 + random.below(3);
  const fractions = Array.from({ length: n }, (_, i) =>
    n === 1 ? reach : bottom + ((top - bottom) * i) / (n - 1),
  );
  if (coverage === 'rising') fractions.push(0.3);
  const total = fractions.reduce((sum, f) => sum + f, 0);
  const durationNs = Math.round(
    Math.max((requests * 1e9) / (total * kneePerSecond), LATENCIES_PER_STEP * idleLatencyNs(print.scenario)),
  );
  const steps = fractions.map((fraction, i): LoadStep => {
    const rate = fraction * kneePerSecond;
    return {
      arrivalsPerSecond: rate,
      durationNs,
      phase:
        coverage === 'rising' && i === n
          ? 'recovery'
          : fraction > 1
            ? 'overload'
            : coverage === 'single'
              ? 'steady'
              : 'ramp',
    };
  });
  const { scenario } = print;
  if (print.shape !== 'closed') return { ...scenario, load: { ...scenario.load, steps } };
  const think = exponential(400 * MS);
  const cycleNs = think.meanNs + idleLatencyNs(scenario);
  return {
    ...scenario,
    load: {
      ...scenario.load,
      closed: { think },
      steps: steps.map((step) => ({
        ...step,
        users: Math.max(1, Math.round((step.arrivalsPerSecond * cycleNs) / 1e9)),
      })),
    },
  };
}
