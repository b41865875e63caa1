import { Random } from '../random.ts';
import type { Run } from '../run.ts';
import type { ExportSpan, Sampling } from './types.ts';

/** @returns the spans of the traces that are kept, with the `tracestate` that says how they were chosen. */
export function sample(spans: readonly ExportSpan[], run: Run, sampling: Sampling): ExportSpan[] {
  if (sampling.kind === 'all') return [...spans];
  const random = new Random(run.scenario.seed, 10);
  const state = new Map<number, string>();
  const latency = (id: number): number => run.requests[id].endNs - run.requests[id].arrivalNs;
  const sorted = run.requests.map(({ id }) => latency(id)).sort((a, b) => a - b);
  const slow =
    sampling.kind === 'tail' ? sorted[Math.floor(sorted.length * (1 - sampling.slowShare))] : Number.NaN;
  for (const { id, outcome } of run.requests) {
    const kept = random.chance(sampling.rate);
    if (sampling.kind === 'tail' && (outcome !== 'success' || latency(id) >= slow)) {
      state.set(id, sampling.stated ? 'ot=th:0' : '');
    } else if (kept) {
      state.set(id, sampling.kind === 'head' || sampling.stated ? `ot=th:${threshold(sampling.rate)}` : '');
    }
  }
  return spans
    .filter((span) => state.has(span.trace))
    .map((span) => ({ ...span, traceState: state.get(span.trace) as string }));
}

/** @returns the rejection threshold of a sampling rate: (1 - rate) * 2^56 as 14 hex digits without trailing zeros. */
export function threshold(rate: number): string {
  const th = BigInt(Math.round((1 - rate) * 2 ** 52)) << 4n;
  return th.toString(16).padStart(14, '0').replace(/0+$/, '') || '0';
}

/** Spans of one export batch. */
const BATCH = 64;

/** @returns the spans without those of batches that were lost on the way. */
export function lose(spans: readonly ExportSpan[], run: Run, share: number): ExportSpan[] {
  if (share === 0) return [...spans];
  const random = new Random(run.scenario.seed, 15);
  const inBatch = new Map<number, { left: number; lost: boolean }>();
  return spans.filter(({ process }) => {
    let batch = inBatch.get(process);
    if (!batch || batch.left === 0) {
      batch = { left: BATCH, lost: random.chance(share) };
      inBatch.set(process, batch);
    }
    batch.left--;
    return !batch.lost;
  });
}
