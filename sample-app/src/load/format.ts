import type { Progress } from './generator.ts';
import type { StepResult } from './step-recorder.ts';

/** @returns a duration for people; `-` where it is unknown. */
export function duration(ns: number | null): string {
  if (ns === null) return '-';
  const ms = ns / 1e6;
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 100 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`;
}

/** @returns cores as percent of one core; `-` where it is unknown. */
export function cores(value: number | null | undefined): string {
  return value == null ? '-' : `${(value * 100).toFixed(0)} %`;
}

export const STEP_HEADER =
  'phase      offered  planned  goodput/s      p50      p99  rejected  timed out  failed  dropped   lag p99';

/** @returns one line of the step table under {@link STEP_HEADER}. */
export function stepLine(step: StepResult): string {
  const offered = step.users === undefined ? `${round(step.arrivalsPerSecond)}/s` : `${step.users} users`;
  return [
    step.phase.padEnd(9),
    offered.padStart(8),
    String(step.planned).padStart(8),
    step.goodputPerSecond.toFixed(1).padStart(10),
    atLeast(step).padStart(8),
    duration(step.latencyFromPlannedNs.p99).padStart(8),
    String(step.rejected).padStart(9),
    String(step.timedOut).padStart(10),
    String(step.transportFailed + step.invalid + step.cancelled).padStart(7),
    String(step.dropped).padStart(8),
    duration(step.startLagNs.p99).padStart(9),
    step.repeated ? '  disturbed, repeated' : step.disturbed ? '  disturbed' : '',
  ].join(' ');
}

function atLeast(step: StepResult): string {
  const { n, atLeast: censored, p50 } = step.latencyFromPlannedNs;
  return (n > 0 && censored > n / 2 ? '>= ' : '') + duration(p50);
}

function round(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}

/** @returns the state of the running step in one line. */
export function progressLine(progress: Progress): string {
  const offered =
    progress.users === null ? `${round(progress.arrivalsPerSecond ?? 0)}/s` : `${progress.users} users`;
  return (
    `step ${progress.step + 1}/${progress.steps} ${progress.phase} ${offered}: ` +
    `planned ${progress.planned}, completed ${progress.completed}, ` +
    `p50 ${duration(progress.p50Ns)}, p99 ${duration(progress.p99Ns)}, ` +
    `errors ${progress.failed}, in flight ${progress.inFlight}`
  );
}

/** @returns warnings that the generator, not the service, may be what was measured; empty when all is well. */
export function generatorWarnings(steps: readonly StepResult[]): string[] {
  const warnings: string[] = [];
  if (
    steps.every((step) => step.transportFailed === step.started) &&
    steps.some((step) => step.started > 0)
  ) {
    warnings.push('no request reached a service: is it up, and is --url right?');
  }
  for (const step of steps) {
    const where = `${step.phase} ${round(step.arrivalsPerSecond)}/s`;
    const lag = step.startLagNs.p99;
    const latency = step.latencyFromSentNs.p50;
    if (step.dropped > 0) {
      warnings.push(
        `${where}: ${step.dropped} arrivals were dropped for want of virtual users (maxInFlight)`,
      );
    }
    if (lag !== null && latency !== null && lag > Math.max(10e6, latency / 2)) {
      warnings.push(`${where}: requests started up to ${duration(lag)} late (p99): latencies contain that`);
    }
    const cpu = step.cpu['generator'];
    if (cpu != null && cpu > 0.8) warnings.push(`${where}: the generator used ${cores(cpu)} of a core`);
  }
  return warnings;
}
