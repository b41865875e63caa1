/** Shorter runs are sorted by insertion before they are merged. */
const RUN = 16;

/** Sorts indexes by their keys, in place; equal keys keep their order. A comparator for each pair costs several times that. */
export function sortByKey(indexes: Int32Array, key: Float64Array): void {
  const n = indexes.length;
  for (let from = 0; from < n; from += RUN) insertionSort(indexes, key, from, Math.min(from + RUN, n));
  let source = indexes;
  let target = new Int32Array(n <= RUN ? 0 : n);
  for (let width = RUN; width < n; width *= 2) {
    for (let from = 0; from < n; from += 2 * width) {
      merge(source, target, key, from, Math.min(from + width, n), Math.min(from + 2 * width, n));
    }
    [source, target] = [target, source as Int32Array<ArrayBuffer>];
  }
  if (source !== indexes) indexes.set(source);
}

function insertionSort(indexes: Int32Array, key: Float64Array, from: number, to: number): void {
  for (let i = from + 1; i < to; i++) {
    const index = indexes[i];
    const own = key[index];
    let at = i - 1;
    while (at >= from && key[indexes[at]] > own) {
      indexes[at + 1] = indexes[at];
      at--;
    }
    indexes[at + 1] = index;
  }
}

function merge(
  source: Int32Array,
  target: Int32Array,
  key: Float64Array,
  from: number,
  middle: number,
  to: number,
): void {
  // What is in order already needs no comparing.
  if (middle >= to || key[source[middle - 1]] <= key[source[middle]]) {
    target.set(source.subarray(from, to), from);
    return;
  }
  let a = from;
  let b = middle;
  for (let at = from; at < to; at++) {
    if (b >= to || (a < middle && key[source[a]] <= key[source[b]])) target[at] = source[a++];
    else target[at] = source[b++];
  }
}

/**
 * @returns the value that would stand at `rank` (0-based) if the values were sorted. Reorders them: what is smaller
 * stands before it then (Hoare, Algorithm 65: Find, 1961).
 */
export function selectRank(values: Float64Array, rank: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const pivot = values[(low + high) >>> 1];
    let i = low;
    let j = high;
    while (i <= j) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i > j) break;
      const swapped = values[i];
      values[i++] = values[j];
      values[j--] = swapped;
    }
    if (rank <= j) high = j;
    else if (rank >= i) low = i;
    else return values[rank];
  }
  return values[rank];
}
