/** Longer slices are left to the typed array's own sort, which costs a call into the engine and a view. */
const SHORT = 16;

/** Sorts rows[from] .. rows[to] in place. Most spans have few children: those are inserted one by one. */
export function sortSlice(
  rows: Int32Array,
  from: number,
  to: number,
  compare: (a: number, b: number) => number,
): void {
  // Siblings often come in the very order that is wanted, or in that order backwards, where inserting would be slowest.
  if (to - from > 2 && compare(rows[from], rows[to - 1]) > 0) reverse(rows, from, to);
  if (to - from > SHORT) {
    if (!isInOrder(rows, from, to, compare)) rows.subarray(from, to).sort(compare);
    return;
  }
  for (let i = from + 1; i < to; i++) {
    const row = rows[i];
    let at = i - 1;
    while (at >= from && compare(rows[at], row) > 0) {
      rows[at + 1] = rows[at];
      at--;
    }
    rows[at + 1] = row;
  }
}

function isInOrder(
  rows: Int32Array,
  from: number,
  to: number,
  compare: (a: number, b: number) => number,
): boolean {
  for (let i = from + 1; i < to; i++) if (compare(rows[i - 1], rows[i]) > 0) return false;
  return true;
}

function reverse(rows: Int32Array, from: number, to: number): void {
  for (let low = from, high = to - 1; low < high; low++, high--) {
    const row = rows[low];
    rows[low] = rows[high];
    rows[high] = row;
  }
}
