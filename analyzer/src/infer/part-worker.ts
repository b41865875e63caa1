import { parentPort, workerData } from 'node:worker_threads';
import { type Parts, type RequestGroups, requestGroups } from '../aggregate/groups.ts';
import type { Requests } from '../aggregate/requests-types.ts';
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

/** Reading parts until none is left. */
export interface GatherTask {
  readonly known: Known;
  /** See {@link takeParts}. */
  readonly next: Int32Array;
}

/** Saying what requests have in common. */
export interface GroupTask {
  readonly requests: Requests;
  readonly parts: Parts;
  /** How many there are. */
  readonly windows: number;
}

/** An answer to a task; an error says why there is none. */
export type PartWorkerAnswer<T> = { readonly done: T } | { readonly error: Pick<Error, 'name' | 'message'> };

if (parentPort) {
  const port = parentPort;
  const { parts: shared, options, rules, firstRow, expectedRows } = workerData as PartWorkerStart;
  const parts = openParts(shared);
  const own: AnalyzeOptions = { ...options };
  if (rules !== null) Object.assign(own, { rules: (await import('../classify/rules.ts')).rulesOf(rules) });
  const gather = ({ known, next }: GatherTask): void => {
    const gathered = new GatheredParts(parts.common, own, known);
    takeParts(parts.count, next, (part) =>
      gathered.read(part, parts.load(part), firstRow[part], expectedRows),
    );
    const done = gathered.pack();
    port.postMessage({ done } satisfies PartWorkerAnswer<PackedParts>, buffersOf(done));
  };
  const group = ({ requests, parts, windows }: GroupTask): void => {
    const done = requestGroups(requests, parts, windows);
    port.postMessage({ done } satisfies PartWorkerAnswer<RequestGroups>);
  };
  port.on('message', (task: GatherTask | GroupTask) => {
    try {
      if ('known' in task) gather(task);
      else group(task);
    } catch (error) {
      const { name, message } = error as Error;
      port.postMessage({ error: { name, message } } satisfies PartWorkerAnswer<never>);
    }
  });
}
