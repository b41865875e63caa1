import { SEGMENTS } from '@waitfall/instrumentation/conventions';
import type { Analysis } from '../../../analyzer/src/infer/analysis.ts';
import { traceIdOf } from '../../sim/export/identity.ts';
import type { ExportOptions } from '../../sim/export/types.ts';
import type { Run } from '../../sim/run.ts';

/**
 * Compares the analyzer's segments of each request with what the request itself booked. Only exports that say all,
 * to the ns, can be compared; pauses are left out, since the partition may give them time that a ledger books as the
 * end of a wait.
 */
export function compareLedgers(
  run: Run,
  analysis: Analysis,
  { spans, clock, minSpanNs, sampling, remote, lost }: ExportOptions,
): { compared: number; differing: number } {
  const complete = minSpanNs === 0 && sampling.kind === 'all' && remote === 'hidden' && lost === 0;
  const comparable = complete && spans !== 'official' && clock === 'exact';
  if (!comparable || run.scenario.pauses) return { compared: 0, differing: 0 };
  const { forest, partition, classes } = analysis;
  const { table } = forest;
  const ledgers = new Map(run.requests.map((r) => [traceIdOf(run.scenario.seed, r.id), r.ledger]));
  let differing = 0;
  for (const { root, first, count } of forest.trees) {
    const sums = new Float64Array(SEGMENTS.length);
    for (const row of forest.order.subarray(first, first + count)) {
      sums[classes.segment[row]] += partition.owned[row];
    }
    const ledger = ledgers.get(table.traceIds[table.trace[root]]);
    if (!ledger || sums.some((ns, i) => ns !== ledger.ns[i])) differing++;
  }
  return { compared: run.requests.length, differing: differing + run.requests.length - forest.trees.length };
}
