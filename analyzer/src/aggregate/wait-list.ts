import type { Wait } from './activity.ts';
import { FIRST, RecordList } from './record-list.ts';

/** All waits of the requests. */
export class WaitList extends RecordList<Wait> {
  queue: Int32Array = new Int32Array(FIRST);
  instance: Int32Array = new Int32Array(FIRST);
  request: Int32Array = new Int32Array(FIRST);
  row: Int32Array = new Int32Array(FIRST);
  startNs: Float64Array = new Float64Array(FIRST);
  endNs: Float64Array = new Float64Array(FIRST);
  outcome: Uint8Array = new Uint8Array(FIRST);
  /** NaN: not stated. */
  /** NaN: not stated. Wider as soon as a number does not fit. */
  inUse: Float32Array | Float64Array = new Float32Array(FIRST);
  depth: Float32Array | Float64Array = new Float32Array(FIRST);

  push(wait: Wait): void {
    const i = this.next(this.queue.length);
    this.queue[i] = wait.queue;
    this.instance[i] = wait.instance;
    this.request[i] = wait.request;
    this.row[i] = wait.row;
    this.startNs[i] = wait.startNs;
    this.endNs[i] = wait.endNs;
    this.outcome[i] = wait.outcome;
    const { inUse, depth } = wait;
    this.inUse[i] = inUse ?? Number.NaN;
    if (inUse !== null && this.inUse[i] !== inUse) (this.inUse = Float64Array.from(this.inUse))[i] = inUse;
    this.depth[i] = depth ?? Number.NaN;
    if (depth !== null && this.depth[i] !== depth) (this.depth = Float64Array.from(this.depth))[i] = depth;
  }

  at(i: number): Wait {
    return {
      queue: this.queue[i],
      instance: this.instance[i],
      request: this.request[i],
      row: this.row[i],
      startNs: this.startNs[i],
      endNs: this.endNs[i],
      outcome: this.outcome[i],
      inUse: stated(this.inUse[i]),
      depth: stated(this.depth[i]),
    };
  }

  /** @returns the waits on one queue. */
  ofQueue(queue: number): Wait[] {
    const own: Wait[] = [];
    for (let i = 0; i < this.length; i++) if (this.queue[i] === queue) own.push(this.at(i));
    return own;
  }
}

function stated(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
