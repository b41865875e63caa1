/** Shorter runs are sorted by insertion before they are merged. */
const RUN = 16;

/** @returns 0, 1, … up to a length. */
export function indexesTo(length: number): Int32Array {
  const indexes = new Int32Array(length);
  for (let i = 0; i < length; i++) indexes[i] = i;
  return indexes;
}

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
  // What of the first run comes before all of the second, and what of the second after all of the first, stays.
  let a = firstAbove(source, key, from, middle, key[source[middle]]);
  const last = firstFrom(source, key, middle, to, key[source[middle - 1]]);
  if (a > from) target.set(source.subarray(from, a), from);
  if (last < to) target.set(source.subarray(last, to), last);
  let b = middle;
  for (let at = a; at < last; at++) {
    if (b >= last || (a < middle && key[source[a]] <= key[source[b]])) target[at] = source[a++];
    else target[at] = source[b++];
  }
}

/** @returns the first of ordered indexes whose key is above a value. */
function firstAbove(source: Int32Array, key: Float64Array, from: number, to: number, value: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const half = (low + high) >>> 1;
    if (key[source[half]] > value) high = half;
    else low = half + 1;
  }
  return low;
}

/** @returns the first of ordered indexes whose key is not below a value. */
function firstFrom(source: Int32Array, key: Float64Array, from: number, to: number, value: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const half = (low + high) >>> 1;
    if (key[source[half]] >= value) high = half;
    else low = half + 1;
  }
  return low;
}

/**
 * @returns the value that would stand at `rank` (0-based) if the values were sorted. Reorders them: what is smaller
 * stands before it then (Hoare, Algorithm 65: Find, 1961).
 */
export function selectRank(values: Float64Array, rank: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const i = split(values, low, high);
    // Where the parts do not touch, the value between them is in its place.
    const j = i - 1 - splitGap;
    if (rank <= j) high = j;
    else if (rank >= i) low = i;
    else return values[rank];
  }
  return values[rank];
}

/** Values between the two parts of the last {@link split}: 0 or 1, equal to both. */
let splitGap = 0;

/** Puts what is at most some value of theirs before what is at least that. @returns where the second part begins. */
function split(values: Float64Array, low: number, high: number): number {
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
  splitGap = i - j - 1;
  return i;
}
