import type { Hold } from './activity.ts';
import { FIRST, type PackedRecords, RecordList } from './record-list.ts';

/** All holds of the requests. */
export class HoldList extends RecordList<Hold> {
  queue: Int32Array = new Int32Array(FIRST);
  instance: Int32Array = new Int32Array(FIRST);
  request: Int32Array = new Int32Array(FIRST);
  row: Int32Array = new Int32Array(FIRST);
  host: Int32Array = new Int32Array(FIRST);
  startNs: Float64Array = new Float64Array(FIRST);
  endNs: Float64Array = new Float64Array(FIRST);
  /** Index into `keys`; 0: none. */
  key: Int32Array = new Int32Array(FIRST);
  readonly keys: (string | null)[] = [null];
  readonly #keyIds = new Map<string | null, number>([[null, 0]]);

  push(hold: Hold): void {
    const i = this.next(this.queue.length);
    this.queue[i] = hold.queue;
    this.instance[i] = hold.instance;
    this.request[i] = hold.request;
    this.row[i] = hold.row;
    this.host[i] = hold.host;
    this.startNs[i] = hold.startNs;
    this.endNs[i] = hold.endNs;
    this.key[i] = this.#keyId(hold.key);
  }

  at(i: number): Hold {
    return {
      queue: this.queue[i],
      instance: this.instance[i],
      request: this.request[i],
      row: this.row[i],
      host: this.host[i],
      startNs: this.startNs[i],
      endNs: this.endNs[i],
      key: this.keys[this.key[i]],
    };
  }

  /** @returns the holds of one queue. */
  ofQueue(queue: number): Hold[] {
    const own: Hold[] = [];
    for (let i = 0; i < this.length; i++) if (this.queue[i] === queue) own.push(this.at(i));
    return own;
  }

  /** Adds the holds of a list whose keys are numbered otherwise, else as they are. @returns the index of the first. */
  appendKeyed(holds: PackedRecords, keys: readonly (string | null)[]): number {
    const ids = keys.map((key) => this.#keyId(key));
    const first = this.append(holds);
    for (let i = first; i < this.length; i++) this.key[i] = ids[this.key[i]];
    return first;
  }

  #keyId(key: string | null): number {
    let id = this.#keyIds.get(key);
    if (id === undefined) {
      id = this.keys.push(key) - 1;
      this.#keyIds.set(key, id);
    }
    return id;
  }
}
