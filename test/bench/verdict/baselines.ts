import type { ResourceRow, WindowRow } from '../../../analyzer/src/aggregate/types.ts';

export type Baseline = 'largest mean wait' | 'highest utilisation' | 'earliest onset';
export const BASELINES: readonly Baseline[] = ['largest mean wait', 'highest utilisation', 'earliest onset'];

/** Anything shorter is no queue to anybody. */
const NOTICEABLE_NS = 1e6;
const ONSET_FACTOR = 3;
const BUSY = 0.9;

/** What one would answer without a method, from the same resource table; null: "nothing saturates". */
export function baselineAnswers(
  resources: readonly ResourceRow[],
  windows: readonly WindowRow[],
): Record<Baseline, string | null> {
  let top = 0;
  windows.forEach((window, i) => {
    if (window.receivedPerSecond >= windows[top].receivedPerSecond) top = i;
  });
  const wait = (row: ResourceRow, i: number): number => row.windows[i]?.meanWaitNs ?? 0;
  const largest = best(resources, (row) => wait(row, top));
  const busiest = best(resources, (row) => row.windows[top]?.utilization ?? -1);
  let onset: { at: number; row: ResourceRow } | null = null;
  for (const row of resources) {
    const at = row.windows.findIndex(
      (_, i) =>
        i <= top && wait(row, i) > NOTICEABLE_NS && wait(row, i) > ONSET_FACTOR * Math.max(0, wait(row, 0)),
    );
    if (at < 0) continue;
    if (!onset || at < onset.at || (at === onset.at && wait(row, at) > wait(onset.row, at)))
      onset = { at, row };
  }
  return {
    'largest mean wait': largest && wait(largest, top) > NOTICEABLE_NS ? largest.resource : null,
    'highest utilisation':
      busiest && (busiest.windows[top]?.utilization ?? 0) > BUSY ? busiest.resource : null,
    'earliest onset': onset?.row.resource ?? null,
  };
}

function best(rows: readonly ResourceRow[], of: (row: ResourceRow) => number): ResourceRow | null {
  let found: ResourceRow | null = null;
  for (const row of rows) if (!found || of(row) > of(found)) found = row;
  return found;
}
