import { grown } from '../model/growing.ts';

/**
 * Groups the indexes below a length by a key: half the memory of lists that grow, whatever their number.
 *
 * @param keyOf a small whole number; null: the index belongs to no group
 * @returns the groups in order of their first index, each ascending
 */
export function groupIndexes(length: number, keyOf: (i: number) => number | null): Map<number, Int32Array> {
  /** By key: a group and one more; 0 where there is none yet. */
  let groupOf = new Int32Array(256);
  const keys: number[] = [];
  const counts: number[] = [];
  const idOf = new Int32Array(length);
  for (let i = 0; i < length; i++) {
    const key = keyOf(i);
    if (key === null) {
      idOf[i] = -1;
      continue;
    }
    if (key >= groupOf.length) {
      groupOf = grown(groupOf, new Int32Array(Math.max(key + 1, groupOf.length * 2)));
    }
    let id = groupOf[key] - 1;
    if (id < 0) {
      id = keys.push(key) - 1;
      counts.push(0);
      groupOf[key] = id + 1;
    }
    idOf[i] = id;
    counts[id]++;
  }
  const groups = counts.map((count) => new Int32Array(count));
  const filled = new Int32Array(counts.length);
  for (let i = 0; i < length; i++) {
    const id = idOf[i];
    if (id >= 0) groups[id][filled[id]++] = i;
  }
  return new Map(keys.map((key, id) => [key, groups[id]]));
}
