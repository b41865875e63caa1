import { parseDuration } from '../model/duration.ts';

/** What the service promises; a rate at which one of these breaks is a capacity. Absent: not promised. */
export interface Objective {
  readonly p50Ns?: number;
  readonly p90Ns?: number;
  readonly p95Ns?: number;
  readonly p99Ns?: number;
  readonly p999Ns?: number;
  /** Failed requests of all, 0..1. */
  readonly errorShare?: number;
  readonly goodputPerSecond?: number;
}

const PERCENTILES = { p50: 'p50Ns', p90: 'p90Ns', p95: 'p95Ns', p99: 'p99Ns', 'p99.9': 'p999Ns' } as const;

/**
 * Parses `p99<200ms,errors<0.1%`.
 *
 * @throws Error naming the part that is not understood.
 */
export function parseObjective(text: string): Objective {
  const out: { -readonly [K in keyof Objective]: Objective[K] } = {};
  for (const part of text.split(',').map((p) => p.trim())) {
    const match = /^([a-z0-9.]+)\s*([<>])=?\s*(\S+)$/i.exec(part);
    const bad = new Error(
      `objective '${part}' is not understood; write for example p99<200ms, errors<0.1% or goodput>80`,
    );
    if (!match) throw bad;
    const [, name, sign, value] = match;
    const percentile = PERCENTILES[name as keyof typeof PERCENTILES];
    if (percentile !== undefined && sign === '<') {
      const ns = parseDuration(value);
      if (ns === null) throw bad;
      out[percentile] = ns;
    } else if (name === 'errors' && sign === '<') {
      const share = /^(\d+(?:\.\d+)?)(%?)$/.exec(value);
      if (!share) throw bad;
      out.errorShare = Number(share[1]) / (share[2] ? 100 : 1);
    } else if (name === 'goodput' && sign === '>') {
      const rate = /^(\d+(?:\.\d+)?)(\/s)?$/.exec(value);
      if (!rate) throw bad;
      out.goodputPerSecond = Number(rate[1]);
    } else throw bad;
  }
  return out;
}

/** @returns the objective of a load plan in our terms, null when it states none of what we can judge. */
export function objectiveOfPlan(stated: Readonly<Record<string, unknown>> | null): Objective | null {
  if (stated === null) return null;
  const number = (key: string, factor: number) =>
    typeof stated[key] === 'number' ? { value: (stated[key] as number) * factor } : null;
  const out: { -readonly [K in keyof Objective]: Objective[K] } = {};
  const p99 = number('p99Ms', 1e6);
  const p999 = number('p999Ms', 1e6);
  const errors = number('errorShare', 1);
  const goodput = number('goodputPerSecond', 1);
  if (p99) out.p99Ns = p99.value;
  if (p999) out.p999Ns = p999.value;
  if (errors) out.errorShare = errors.value;
  if (goodput) out.goodputPerSecond = goodput.value;
  return Object.keys(out).length > 0 ? out : null;
}
