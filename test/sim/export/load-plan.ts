import type { Run, SimOutcome } from '../run.ts';
import { EPOCH_NS } from './epoch.ts';

/** @returns the content of `load.json` for a run. */
export function loadPlanOf(run: Run): Record<string, unknown> {
  const { scenario, requests, stepStartsNs } = run;
  const count = (step: number, outcome: SimOutcome): number =>
    requests.filter((r) => r.step === step && r.outcome === outcome && r.endNs >= 0).length;
  const latency = (step: number): Record<string, number | null> => {
    const all = requests
      .filter((r) => r.step === step && r.endNs >= 0)
      .map((r) => r.endNs - r.arrivalNs)
      .sort((a, b) => a - b);
    const rank = (q: number): number | null =>
      all.length === 0 ? null : all[Math.min(all.length - 1, Math.ceil(q * all.length) - 1)];
    return { p50: rank(0.5), p99: rank(0.99), max: rank(1) };
  };
  const steps = scenario.load.steps.map((step, i) => {
    const started = requests.filter((r) => r.step === i).length;
    return {
      startUnixNano: String(EPOCH_NS + BigInt(stepStartsNs[i])),
      endUnixNano: String(EPOCH_NS + BigInt(stepStartsNs[i + 1])),
      // A closed loop has no planned rate; its generator reports what it sent.
      arrivalsPerSecond: scenario.load.closed ? (started * 1e9) / step.durationNs : step.arrivalsPerSecond,
      phase: step.phase,
      planned: started,
      started,
      dropped: 0,
      succeeded: count(i, 'success'),
      rejected: count(i, 'rejected'),
      timedOut: count(i, 'timeout'),
      transportFailed: 0,
      invalid: count(i, 'error'),
      cancelled: 0,
      latencyFromPlannedNs: latency(i),
      disturbed: false,
    };
  });
  const ended = requests.filter((r) => r.endNs >= 0).length;
  const succeeded = requests.filter((r) => r.outcome === 'success' && r.endNs >= 0).length;
  return {
    manifest: {
      seed: scenario.seed,
      service: scenario.service,
      replicas: scenario.replicas.length,
      arrivals: scenario.load.arrivals,
      routes: Object.fromEntries(scenario.routes.map(({ name, weight }) => [name, weight])),
    },
    steps,
    conservation: {
      inFlightStart: 0,
      entered: requests.length,
      succeeded,
      failed: ended - succeeded,
      cancelled: 0,
      inFlightEnd: requests.length - ended,
    },
    invariants: [],
  };
}
