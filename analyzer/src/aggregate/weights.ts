/** Where the weights of the requests come from. */
export type SamplingKind =
  /** Nothing was left out, as far as can be told. */
  | 'none'
  /** `tracestate ot=th:` on the roots (OpenTelemetry probability sampling). */
  | 'stated'
  /** Slow and failed requests kept, the others thinned, without `th`: the limit was fitted to the load plan (rule 0). */
  | 'tail-fitted'
  /** Fewer requests than the plan sent, evenly: each stands for the same number. */
  | 'thinned'
  /** A tail sampler chose the traces (`tailsampling.policy`) and states no weights: every number is biased. */
  | 'unstated';

export interface Sampling {
  readonly kind: SamplingKind;
  /** Requests exported / requests they stand for, 0..1; 1 when nothing was left out, null when unknown. */
  readonly keptShare: number | null;
  /** Tail sampling: latency above which everything was kept, ns. */
  readonly keptAboveNs: number | null;
}

/** Set by the collector's tail sampler on what it kept (feature gate `recordpolicy`): which policy chose the trace. */
export const ATTR_TAIL_POLICY = 'tailsampling.policy';

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
  const rejected = BigInt(`0x${match[1].padEnd(14, '0')}`);
  return Number(2n ** 56n) / Number(2n ** 56n - rejected);
}

/** A window as the fit of tail sampling needs it. */
export interface OfferedWindow {
  /** Requests the load plan sent in it. */
  readonly offered: number;
  readonly durationsNs: Float64Array;
  /** 1 where the request failed: always kept by a tail sampler. */
  readonly failed: Uint8Array;
}

/** Fewer than this share of the planned requests in the export means sampling (or loss), not chance. */
export const SAMPLED_BELOW = 0.7;
/** A keep rate above this cannot be told from an unsampled export. */
const HIGHEST_KEEP_RATE = 0.6;
const FEWEST_WINDOWS = 3;
const FEWEST_FAST = 3;

/**
 * Rule 0: a tail sampler without `th` keeps everything slower than a limit and a fixed share p of the rest. The limit
 * is the one for which the kept share of faster requests, fast / (offered - slow), is most nearly the same in every
 * window (Poisson deviance: a window in which hardly any fast one was kept counts, too); p is that share.
 *
 * @returns null when fewer than three windows have enough fast requests or p is too near 1.
 */
export function fitTailLimit(
  windows: readonly OfferedWindow[],
): { readonly limitNs: number; readonly keepRate: number } | null {
  const all = Float64Array.from(windows.flatMap((w) => [...w.durationsNs])).sort();
  if (all.length === 0) return null;
  let best: { spread: number; limitNs: number; keepRate: number } | null = null;
  for (let percent = 2; percent < 98; percent += 2) {
    const limitNs = all[Math.floor((percent * all.length) / 100)];
    const counts: { fast: number; unsampled: number }[] = [];
    for (const { offered, durationsNs, failed } of windows) {
      let fast = 0;
      for (let i = 0; i < durationsNs.length; i++) if (durationsNs[i] <= limitNs && !failed[i]) fast++;
      const unsampled = offered - (durationsNs.length - fast);
      if (unsampled > 0.1 * offered) counts.push({ fast, unsampled });
    }
    if (counts.filter(({ fast }) => fast >= FEWEST_FAST).length < FEWEST_WINDOWS) continue;
    const keepRate = sumOf(counts, 'fast') / sumOf(counts, 'unsampled');
    const spread = counts.reduce((sum, one) => sum + deviance(one.fast, keepRate * one.unsampled), 0);
    const perWindow = spread / (counts.length - 1);
    if (best === null || perWindow < best.spread) best = { spread: perWindow, limitNs, keepRate };
  }
  return best === null || best.keepRate > HIGHEST_KEEP_RATE ? null : best;
}

function sumOf<K extends string>(list: readonly Record<K, number>[], key: K): number {
  return list.reduce((sum, one) => sum + one[key], 0);
}

/** Of a count from what was expected: 0 where they agree, about 1 by chance. */
function deviance(count: number, expected: number): number {
  return 2 * ((count > 0 ? count * Math.log(count / expected) : 0) - (count - expected));
}
