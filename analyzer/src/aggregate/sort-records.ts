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
