/**
 * Groups the indexes below a length by a key: half the memory of lists that grow, whatever their number.
 *
 * @param keyOf null: the index belongs to no group
 * @returns the groups in order of their first index, each ascending
 */
export function groupIndexes(length: number, keyOf: (i: number) => number | null): Map<number, Int32Array> {
  const ids = new Map<number, number>();
  const counts: number[] = [];
  const idOf = new Int32Array(length);
  let lastKey = Number.NaN;
  let lastId = -1;
  for (let i = 0; i < length; i++) {
    const key = keyOf(i);
    if (key === null) {
      idOf[i] = -1;
      continue;
    }
    // The same key often comes again at once.
    if (key !== lastKey) {
      lastKey = key;
      lastId = ids.get(key) ?? counts.push(0) - 1;
      ids.set(key, lastId);
    }
    idOf[i] = lastId;
    counts[lastId]++;
  }
  const groups = counts.map((count) => new Int32Array(count));
  const filled = new Int32Array(counts.length);
  for (let i = 0; i < length; i++) {
    const id = idOf[i];
    if (id >= 0) groups[id][filled[id]++] = i;
  }
  return new Map([...ids.keys()].map((key, id) => [key, groups[id]]));
}
