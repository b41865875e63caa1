import { PairIds } from '../model/pair-ids.ts';
import type { Call } from './activity.ts';
import { groupIndexes } from './index-groups.ts';
import { FIRST, RecordList } from './record-list.ts';

/** All calls of the requests to servers that say nothing about their queues. */
export class CallList extends RecordList<Call> {
  queue: Int32Array = new Int32Array(FIRST);
  request: Int32Array = new Int32Array(FIRST);
  row: Int32Array = new Int32Array(FIRST);
  startNs: Float64Array = new Float64Array(FIRST);
  endNs: Float64Array = new Float64Array(FIRST);
  durationNs: Float64Array = new Float64Array(FIRST);
  operation: Int32Array = new Int32Array(FIRST);
  failed: Uint8Array = new Uint8Array(FIRST);

  /** @returns a list of the records given. */
  static from(calls: Iterable<Call>): CallList {
    const list = new CallList();
    for (const call of calls) list.push(call);
    return list;
  }

  push(call: Call): void {
    const i = this.next(this.queue.length);
    this.queue[i] = call.queue;
    this.request[i] = call.request;
    this.row[i] = call.row;
    this.startNs[i] = call.startNs;
    this.endNs[i] = call.endNs;
    this.durationNs[i] = call.durationNs;
    this.operation[i] = call.operation;
    this.failed[i] = call.failed ? 1 : 0;
  }

  at(i: number): Call {
    return {
      queue: this.queue[i],
      request: this.request[i],
      row: this.row[i],
      startNs: this.startNs[i],
      endNs: this.endNs[i],
      durationNs: this.durationNs[i],
      operation: this.operation[i],
      failed: this.failed[i] === 1,
    };
  }

  /** @returns by call: one small number for those of one operation to one server. */
  operationKeys(): Int32Array {
    const pairs = new PairIds();
    const keys = new Int32Array(this.length);
    for (let i = 0; i < keys.length; i++) keys[i] = pairs.of(this.queue[i], this.operation[i] >>> 0);
    return keys;
  }

  /** @returns the indexes of the calls to each server, in order. */
  byQueue(): Map<number, Int32Array> {
    return groupIndexes(this.length, (i) => this.queue[i]);
  }
}
