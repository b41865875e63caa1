import { sortByKey } from '../model/ordering.ts';
import type { CallList } from './call-list.ts';

/** The calls to one server, in order of their start, and when calls to it ended, ascending. */
export interface CallsInTime {
  readonly byStart: Int32Array;
  readonly endNs: Float64Array;
}

export function callsInTime({ startNs, endNs }: CallList, members: Int32Array): CallsInTime {
  const byStart = members.slice();
  sortByKey(byStart, startNs);
  const ends = new Float64Array(members.length);
  for (let k = 0; k < members.length; k++) ends[k] = endNs[members[k]];
  ends.sort();
  return { byStart, endNs: ends };
}
