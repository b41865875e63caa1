/** One step of a load plan; times as epoch ns. */
export interface LoadStep {
  readonly startUnixNano: bigint;
  readonly endUnixNano: bigint;
  readonly arrivalsPerSecond: number;
  readonly phase: string | null;
  /** Counts of the load generator, where it states them. */
  readonly planned: number | null;
  readonly started: number | null;
  readonly dropped: number | null;
  readonly succeeded: number | null;
  readonly rejected: number | null;
  readonly timedOut: number | null;
  readonly disturbed: boolean;
}

/** A validated load plan (`load.json`): what was sent when. */
export interface LoadPlan {
  /** In order of start, not overlapping. */
  readonly steps: readonly LoadStep[];
  readonly objective: Readonly<Record<string, unknown>> | null;
  readonly manifest: Readonly<Record<string, unknown>> | null;
}
