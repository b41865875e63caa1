import { createTraceState, type TraceState } from '@opentelemetry/api';
import type { SpanIdentity } from '../core/span-id.ts';

/** Decides by trace id whether a new trace is recorded. */
export type RootSampler = (span: SpanIdentity) => boolean;

export interface SamplerSettings {
  readonly root: RootSampler;
  /** Children of a remote parent follow its decision. */
  readonly parentBased: boolean;
  /** What the traces it begins say of the decision; undefined where nothing is left out, or nothing can be said. */
  readonly state: TraceState | undefined;
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
      return { root: () => true, parentBased, state: undefined };
    case 'always_off':
      return { root: () => false, parentBased, state: undefined };
    case 'traceidratio': {
      const ratio = shareOf(Number.parseFloat(env['OTEL_TRACES_SAMPLER_ARG'] ?? '1'));
      if (ratio === 1) return { root: () => true, parentBased, state: undefined };
      // Without the parent's decision each service decides for itself, and as the SDK of the others does.
      return parentBased
        ? { ...byThreshold(ratio), parentBased }
        : { root: byRatio(ratio), parentBased, state: undefined };
    }
    default:
      return undefined;
  }
}

function shareOf(ratio: number): number {
  return Number.isFinite(ratio) ? Math.min(1, Math.max(0, ratio)) : 1;
}

/**
 * Consistent probability sampling: kept where the last 56 bits of the trace id are at least the threshold, which `th` of
 * the `ot` entry states. https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/
 */
function byThreshold(ratio: number): Pick<SamplerSettings, 'root' | 'state'> {
  if (ratio === 0) return { root: () => false, state: undefined };
  const threshold = BigInt(Math.round((1 - ratio) * 2 ** 56));
  const high = Number(threshold >> 32n);
  const low = Number(threshold & 0xffff_ffffn);
  const digits = threshold.toString(16).padStart(14, '0').replace(/0+$/, '');
  return {
    root: ({ trace2, trace3 }) => {
      const word = trace2 & 0xff_ffff;
      return word > high || (word === high && trace3 >>> 0 >= low);
    },
    state: createTraceState(`ot=th:${digits}`),
  };
}

/** The SDK's rule: the four words of the trace id, exclusive-or'ed, below the ratio of their range. */
function byRatio(ratio: number): RootSampler {
  const bound = Math.floor(ratio * 0xffff_ffff);
  return ({ trace0, trace1, trace2, trace3 }) => (trace0 ^ trace1 ^ trace2 ^ trace3) >>> 0 < bound;
}
