import { duration } from '../load/format.ts';
import type { LoadManifest } from '../load/manifest.ts';
import type { StepResult } from '../load/step-recorder.ts';
import type { Sample } from './monitor.ts';

const STEP_SECONDS = 30;
/** Growth from the first to the last third beyond which something drifts. */
const DRIFT = 1.25;

/** @returns the same requests as the manifest's, at one rate for a long time. */
export function soakManifest(
  manifest: LoadManifest,
  minutes: number,
  arrivalsPerSecond: number,
): LoadManifest {
  const steps = Math.max(3, Math.round((minutes * 60) / STEP_SECONDS));
  return {
    ...manifest,
    name: `${manifest.name}, soak`,
    repeatSeconds: 0,
    steps: [
      { phase: 'warmup', arrivalsPerSecond, seconds: 5 },
      ...Array.from({ length: steps }, () => ({
        phase: 'steady' as const,
        arrivalsPerSecond,
        seconds: STEP_SECONDS,
      })),
    ],
  };
}

/** Something that may creep up while nothing else changes. */
export interface Drift {
  readonly what: string;
  readonly drifts: boolean;
  readonly detail: string;
}

/** Compares the first third of a soak with the last. */
export function measureDrift(steps: readonly StepResult[], samples: readonly Sample[]): Drift[] {
  const steady = steps.filter(({ phase }) => phase === 'steady');
  const third = Math.max(1, Math.floor(steady.length / 3));
  const [first, last] = [steady.slice(0, third), steady.slice(-third)];
  const inside = (part: readonly StepResult[]) => {
    const [from, to] = [BigInt(part[0]!.startUnixNano), BigInt(part.at(-1)!.endUnixNano)];
    return samples.filter(({ timeUnixNano }) => BigInt(timeUnixNano) >= from && BigInt(timeUnixNano) < to);
  };
  const ofSteps = (what: string, value: (step: StepResult) => number | null) =>
    compare(what, first.map(value), last.map(value), duration);
  const ofSamples = (
    what: string,
    value: (sample: Sample) => number | null,
    show: (value: number) => string,
  ) => compare(what, inside(first).map(value), inside(last).map(value), show);
  return [
    ofSteps('p50', ({ latencyFromPlannedNs }) => latencyFromPlannedNs.p50),
    ofSteps('p99', ({ latencyFromPlannedNs }) => latencyFromPlannedNs.p99),
    ofSamples('memory of the service', ({ service }) => service?.memoryBytes ?? null, mebibytes),
    ofSamples(
      'CPU of the service',
      ({ cpu }) => cpu['app'] ?? null,
      (value) => `${(value * 100).toFixed(0)} %`,
    ),
    ofSamples(
      'outbox rows',
      ({ service }) => service?.outbox?.rows ?? null,
      (value) => value.toFixed(1),
    ),
  ].filter((drift) => drift !== null);
}

/** @returns null where one of the two thirds has no value. */
function compare(
  what: string,
  first: readonly (number | null)[],
  last: readonly (number | null)[],
  show: (value: number) => string,
): Drift | null {
  const [from, to] = [meanOf(first), meanOf(last)];
  if (from === null || to === null) return null;
  return { what, drifts: to > from * DRIFT && to > 1, detail: `${show(from)} -> ${show(to)}` };
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
