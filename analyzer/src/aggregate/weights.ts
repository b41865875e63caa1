/** Where the weights of the requests come from. */
export type SamplingKind =
  /** Nothing was left out, as far as can be told. */
  | 'none'
  /** `tracestate ot=th:` on the roots (OpenTelemetry probability sampling). */
  | 'stated'
  /** Slow and failed requests kept, the others thinned, without `th`: the limit was fitted to the load plan (rule 0). */
  | 'tail-fitted'
  /** Fewer requests than the plan sent, evenly: each stands for the same number. */
  | 'thinned';

export interface Sampling {
  readonly kind: SamplingKind;
  /** Requests exported / requests they stand for, 0..1; 1 when nothing was left out. */
  readonly keptShare: number;
  /** Tail sampling: latency above which everything was kept, ns. */
  readonly keptAboveNs: number | null;
}

const TH = /(?:^|,)\s*ot=(?:[^,]*;)?th:([0-9a-f]{1,14})(?=[;,\s]|$)/;

/**
 * Adjusted count of a trace from its `tracestate`: 1 / (1 - th / 2^56), th right-padded with zeros to 14 hex digits
 * (OpenTelemetry specification, "TraceState: Probability Sampling").
 *
 * @returns null when no valid `th` is stated.
 */
export function weightFromTraceState(traceState: string): number | null {
  const match = TH.exec(traceState);
  if (!match) return null;
  const rejected = Number.parseInt(match[1].padEnd(14, '0'), 16) / 2 ** 56;
  return rejected < 1 ? 1 / (1 - rejected) : null;
}
