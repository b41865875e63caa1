import type { RecordList } from './record-list.ts';

/** Records that belong to a request. */
type OfRequests = RecordList<unknown> & { readonly request: Int32Array };

/** Puts the records from `from` on in order of their requests; those of one request keep theirs. */
export function sortByRequest(records: OfRequests, from = 0): void {
  const order = new Int32Array(records.length);
  for (let i = 0; i < order.length; i++) order[i] = i;
  if (orderByRequest(records.request, order.subarray(from))) records.reorder(order);
}

/** Sorts indexes by the request of each, in place; stable. @returns whether that changed anything. */
export function orderByRequest(request: Int32Array, indexes: Int32Array): boolean {
  let highest = -1;
  let isOrdered = true;
  for (const i of indexes) {
    if (request[i] < highest) isOrdered = false;
    else highest = request[i];
  }
  if (isOrdered) return false;
  const next = new Int32Array(highest + 2);
  for (const i of indexes) next[request[i] + 1]++;
  for (let r = 0; r <= highest; r++) next[r + 1] += next[r];
  for (const i of indexes.slice()) indexes[next[request[i]]++] = i;
  return true;
}

/** The records of each request, in the order of the list. */
export class ByRequest {
  /** Those of request r: members[offset[r]] .. members[offset[r + 1]]. */
  readonly #offset: Int32Array;
  readonly #members: Int32Array;

  constructor({ request, length }: OfRequests, requests: number) {
    const offset = new Int32Array(requests + 1);
    for (let i = 0; i < length; i++) offset[request[i] + 1]++;
    for (let r = 0; r < requests; r++) offset[r + 1] += offset[r];
    this.#members = new Int32Array(length);
    const next = offset.slice(0, requests);
    for (let i = 0; i < length; i++) this.#members[next[request[i]]++] = i;
    this.#offset = offset;
  }

  countOf(request: number): number {
    return this.#offset[request + 1] - this.#offset[request];
  }

  /** @returns the index of the k-th record of a request; -1 where k is. */
  at(request: number, k: number): number {
    return k < 0 ? -1 : this.#members[this.#offset[request] + k];
  }
}
