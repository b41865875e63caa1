import { parentPort, workerData } from 'node:worker_threads';
import type { Rule } from '../classify/rules.ts';
import { openParts, type SharedParts } from '../model/shared-parts.ts';
import type { AnalyzeOptions } from './analysis.ts';
import { buffersOf, GatheredParts, type Known, type PackedParts } from './gathered-parts.ts';
import { takeParts } from './take-parts.ts';

/** What a worker is started with. */
export interface PartWorkerStart {
  readonly parts: SharedParts;
  readonly options: Pick<AnalyzeOptions, 'toleranceNs' | 'keepClocks' | 'fromUnixNano' | 'toUnixNano'>;
  readonly rules: readonly Rule[] | null;
  readonly firstRow: readonly number[];
  /** Rows it is going to read, about. */
  readonly expectedRows: number;
}

export interface PartWorkerTask {
  readonly known: Known;
  /** See {@link takeParts}. */
  readonly next: Int32Array;
}

export type PartWorkerAnswer = PackedParts | { readonly error: Pick<Error, 'name' | 'message'> };

if (parentPort) {
  const port = parentPort;
  const { parts: shared, options, rules, firstRow, expectedRows } = workerData as PartWorkerStart;
  const parts = openParts(shared);
  const own: AnalyzeOptions = { ...options };
  if (rules !== null) Object.assign(own, { rules: (await import('../classify/rules.ts')).rulesOf(rules) });
  port.on('message', ({ known, next }: PartWorkerTask) => {
    try {
      const gathered = new GatheredParts(parts.common, own, known);
      takeParts(parts.count, next, (part) =>
        gathered.read(part, parts.load(part), firstRow[part], expectedRows),
      );
      const packed = gathered.pack();
      port.postMessage(packed satisfies PartWorkerAnswer, buffersOf(packed));
    } catch (error) {
      const { name, message } = error as Error;
      port.postMessage({ error: { name, message } } satisfies PartWorkerAnswer);
    }
  });
}
