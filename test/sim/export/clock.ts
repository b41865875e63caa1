import { SCOPE_NAME } from '@waitfall/instrumentation/conventions';
import { Random } from '../random.ts';
import type { ExportOptions, ExportSpan } from './types.ts';

const JITTER_NS = 50_000;

/** @returns the spans as clocks of the given quality would have stamped them. */
export function stamp(
  spans: readonly ExportSpan[],
  clock: ExportOptions['clock'],
  seed: number,
): ExportSpan[] {
  if (clock === 'exact') return [...spans];
  const random = new Random(seed, 11);
  return spans.map((span) => {
    const { startNs, endNs } = span;
    if (clock === 'jitter') {
      const start = startNs + Math.round(random.between(-JITTER_NS, JITTER_NS));
      const end = endNs + Math.round(random.between(-JITTER_NS, JITTER_NS));
      return { ...span, startNs: Math.max(0, start), endNs: Math.max(0, start, end) };
    }
    if (span.scope === SCOPE_NAME) return span;
    const start = Math.floor(startNs / 1e6) * 1e6;
    return { ...span, startNs: start, endNs: start + (endNs - startNs) };
  });
}
