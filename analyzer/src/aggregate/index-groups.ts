/**
 * Groups the indexes below a length by a key: half the memory of lists that grow, whatever their number.
 *
 * @param keyOf null: the index belongs to no group
 * @returns the groups in order of their first index, each ascending
 */
export function groupIndexes(length: number, keyOf: (i: number) => number | null): Map<number, Int32Array> {
  const counts = new Map<number, number>();
  for (let i = 0; i < length; i++) {
    const key = keyOf(i);
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const groups = new Map<number, Int32Array>();
  for (const [key, count] of counts) groups.set(key, new Int32Array(count));
  counts.clear();
  for (let i = 0; i < length; i++) {
    const key = keyOf(i);
    if (key === null) continue;
    const at = counts.get(key) ?? 0;
    (groups.get(key) as Int32Array)[at] = i;
    counts.set(key, at + 1);
  }
  return groups;
}
