import { sortByKey } from '../model/ordering.ts';
import type { Slice } from './activity.ts';
import type { Span } from './intervals.ts';
import { FIRST, RecordList } from './record-list.ts';

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
}

/** @returns the union of the slices of one process in some lists, merged and in order. */
export function unionOf(lists: readonly SliceList[], queue: number, instance: number): Span[] {
  const total = lists.reduce((sum, list) => sum + list.length, 0);
  const startNs = new Float64Array(total);
  const endNs = new Float64Array(total);
  let n = 0;
  for (const list of lists) {
    for (let i = 0; i < list.length; i++) {
      if (list.queue[i] !== queue || list.instance[i] !== instance || list.endNs[i] <= list.startNs[i])
        continue;
      startNs[n] = list.startNs[i];
      endNs[n++] = list.endNs[i];
    }
  }
  const order = Int32Array.from({ length: n }, (_, i) => i);
  sortByKey(order, startNs);
  const merged: { startNs: number; endNs: number }[] = [];
  for (let k = 0; k < n; k++) {
    const i = order[k];
    const last = merged.at(-1);
    if (last && startNs[i] <= last.endNs) last.endNs = Math.max(last.endNs, endNs[i]);
    else merged.push({ startNs: startNs[i], endNs: endNs[i] });
  }
  return merged;
}
