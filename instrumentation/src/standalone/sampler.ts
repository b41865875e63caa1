import type { SpanIdentity } from '../core/span-id.ts';

/** Decides by trace id whether a new trace is recorded. */
export type RootSampler = (span: SpanIdentity) => boolean;

export interface SamplerSettings {
  readonly root: RootSampler;
  /** Children of a remote parent follow its decision. */
  readonly parentBased: boolean;
}

/**
 * @returns the sampler that `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` name, or undefined for one
 * that only an SDK has.
 */
export function samplerFromEnv(env: NodeJS.ProcessEnv = process.env): SamplerSettings | undefined {
  const name = env['OTEL_TRACES_SAMPLER'] || 'parentbased_always_on';
  const parentBased = name.startsWith('parentbased_');
  switch (parentBased ? name.slice('parentbased_'.length) : name) {
    case 'always_on':
      return { root: () => true, parentBased };
    case 'always_off':
      return { root: () => false, parentBased };
    case 'traceidratio':
      return { root: byRatio(Number.parseFloat(env['OTEL_TRACES_SAMPLER_ARG'] ?? '1')), parentBased };
    default:
      return undefined;
  }
}

/** The SDK's rule: the four words of the trace id, exclusive-or'ed, below the ratio of their range. */
function byRatio(ratio: number): RootSampler {
  const share = Number.isFinite(ratio) ? Math.min(1, Math.max(0, ratio)) : 1;
  const bound = Math.floor(share * 0xffff_ffff);
  return ({ trace0, trace1, trace2, trace3 }) =>
    share === 1 || (trace0 ^ trace1 ^ trace2 ^ trace3) >>> 0 < bound;
}
