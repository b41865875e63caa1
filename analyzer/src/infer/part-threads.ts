import { Worker } from 'node:worker_threads';
import type { RequestGroups } from '../aggregate/groups.ts';
import { AllAttributesNeeded } from '../tree/copy-text.ts';
import type { PackedParts } from './gathered-parts.ts';
import type { GatherTask, GroupTask, PartWorkerAnswer, PartWorkerStart } from './part-worker.ts';

/** Threads that read parts of an input beside the one that asks them to. */
export class PartThreads {
  readonly #workers: Worker[];

  constructor(count: number, start: PartWorkerStart) {
    // From the sources the worker is its own file; in the bundle it is one beside this one.
    const file = import.meta.url.endsWith('.ts') ? './part-worker.ts' : './part-worker.js';
    const url = new URL(file, import.meta.url);
    this.#workers = Array.from({ length: count }, () => new Worker(url, { workerData: start }));
    for (const worker of this.#workers) {
      // Whoever waits for a thread hears of it.
      worker.on('error', () => {});
      worker.on('exit', () => this.#lose(worker));
    }
  }

  /**
   * Has all threads read parts until there are none left.
   *
   * @returns what each has gathered; null where a thread was lost, and what it gathered with it.
   * @throws {@link AllAttributesNeeded}
   */
  async gather(task: GatherTask): Promise<PackedParts[] | null> {
    const answers = await Promise.all(this.#workers.map((worker) => ask<PackedParts>(worker, task)));
    const packed: PackedParts[] = [];
    for (const answer of answers) {
      if (answer === null) return null;
      if ('done' in answer) packed.push(answer.done);
      else if (answer.error.name === AllAttributesNeeded.name) throw new AllAttributesNeeded();
      else return null;
    }
    return packed;
  }

  /** Has one thread say what requests have in common. @returns null where it was lost. */
  async group(task: GroupTask): Promise<RequestGroups | null> {
    const [worker] = this.#workers;
    const answer = worker === undefined ? null : await ask<RequestGroups>(worker, task);
    return answer !== null && 'done' in answer ? answer.done : null;
  }

  /** One that is gone answers nobody. */
  #lose(worker: Worker): void {
    const at = this.#workers.indexOf(worker);
    if (at >= 0) this.#workers.splice(at, 1);
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.splice(0).map((worker) => worker.terminate()));
  }
}

/** @returns its answer; null where it died. */
function ask<T>(worker: Worker, task: GatherTask | GroupTask): Promise<PartWorkerAnswer<T> | null> {
  return new Promise((resolve) => {
    worker.once('message', resolve);
    worker.once('exit', () => resolve(null));
    worker.postMessage(task);
  });
}
