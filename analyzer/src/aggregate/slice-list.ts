import type { Slice } from './activity.ts';
import { FIRST, grownFloat64, grownInt32, RecordList } from './record-list.ts';

/** All slices of work, or all pauses, of the requests. */
export class SliceList extends RecordList<Slice> {
  queue: Int32Array = new Int32Array(FIRST);
  instance: Int32Array = new Int32Array(FIRST);
  request: Int32Array = new Int32Array(FIRST);
  startNs: Float64Array = new Float64Array(FIRST);
  endNs: Float64Array = new Float64Array(FIRST);

  push(slice: Slice): void {
    const i = this.next(this.queue.length);
    this.queue[i] = slice.queue;
    this.instance[i] = slice.instance;
    this.request[i] = slice.request;
    this.startNs[i] = slice.startNs;
    this.endNs[i] = slice.endNs;
  }

  at(i: number): Slice {
    return {
      queue: this.queue[i],
      instance: this.instance[i],
      request: this.request[i],
      startNs: this.startNs[i],
      endNs: this.endNs[i],
    };
  }

  protected grow(capacity: number): void {
    this.queue = grownInt32(this.queue, capacity);
    this.instance = grownInt32(this.instance, capacity);
    this.request = grownInt32(this.request, capacity);
    this.startNs = grownFloat64(this.startNs, capacity);
    this.endNs = grownFloat64(this.endNs, capacity);
  }
}
