import { parentPort, workerData } from 'node:worker_threads';
import { buffersOf } from '../model/table-block.ts';
import { type Range, RangeReader, type RangeResult } from './range-reader.ts';

/** What a worker is started with. */
export interface WorkerStart {
  readonly fast: boolean;
  readonly keep: ReadonlySet<string> | null;
}

export interface WorkerTask {
  readonly id: number;
  readonly range: Range;
  /** Part of what was handed over before is lost. */
  readonly restart: boolean;
  readonly buffer: ArrayBuffer | null;
}

/** The answer to a task; an error says why the range could not be read. */
export type WorkerAnswer =
  | { readonly id: number; readonly result: RangeResult }
  | { readonly id: number; readonly error: string };

if (parentPort) {
  const port = parentPort;
  const { fast, keep } = workerData as WorkerStart;
  const reader = new RangeReader(fast, keep);
  port.on('message', ({ id, range, restart, buffer }: WorkerTask) => {
    if (restart) reader.restart();
    try {
      const result = reader.read(range, buffer);
      port.postMessage({ id, result } satisfies WorkerAnswer, buffersOf(result.part.block));
    } catch (error) {
      reader.restart();
      port.postMessage({ id, error: (error as Error).message } satisfies WorkerAnswer);
    }
  });
}
