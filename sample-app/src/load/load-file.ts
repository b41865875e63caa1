import type { Conservation } from './generator.ts';
import { type LoadManifest, manifestHash } from './manifest.ts';
import type { StepResult } from './step-recorder.ts';

/** Something that must be true after a run, and whether it is. */
export interface Invariant {
  readonly name: string;
  readonly holds: boolean;
  readonly detail: string;
}

/** Content of `load.json`: what was offered and what came of it. */
export interface LoadFile {
  readonly manifest: LoadManifest & { readonly hash: string };
  readonly objective: LoadManifest['objective'] | null;
  readonly interrupted: boolean;
  readonly steps: readonly StepResult[];
  readonly conservation: Conservation;
  readonly invariants: readonly Invariant[];
}

/** @returns the result of a load with the invariants that the generator itself can check. */
export function loadFile(
  manifest: LoadManifest,
  steps: readonly StepResult[],
  conservation: Conservation,
  interrupted: boolean,
): LoadFile {
  const { entered, succeeded, failed, cancelled, inFlightEnd } = conservation;
  const planned = steps.reduce((sum, step) => sum + step.planned, 0);
  const dropped = steps.reduce((sum, step) => sum + step.dropped, 0);
  return {
    manifest: { ...manifest, hash: manifestHash(manifest) },
    objective: manifest.objective ?? null,
    interrupted,
    steps,
    conservation,
    invariants: [
      {
        name: 'planned = started + dropped',
        holds: planned === entered + dropped,
        detail: `${planned} = ${entered} + ${dropped}`,
      },
      {
        name: 'entered = succeeded + failed + cancelled + in flight at the end',
        holds: entered === succeeded + failed + cancelled + inFlightEnd && failed === failedOf(steps),
        detail: `${entered} = ${succeeded} + ${failedOf(steps)} + ${cancelled} + ${inFlightEnd}`,
      },
      { name: 'nothing in flight at the end', holds: inFlightEnd === 0, detail: `${inFlightEnd}` },
    ],
  };
}

function failedOf(steps: readonly StepResult[]): number {
  return steps.reduce(
    (sum, step) => sum + step.rejected + step.timedOut + step.transportFailed + step.invalid,
    0,
  );
}
