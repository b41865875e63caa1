/*
 * Columns that one step needs and the next does not. Handed on instead of left to the collector, which does not see how
 * much memory they hold: a tenth of the memory of an analysis, and the time a system takes to clear fresh pages.
 */

/** More are not kept: a step that needs so many at once has them made. */
const KEPT = 6;
/** The parts of an input need columns of much the same length again and again: of such small ones more are kept. */
const SMALL = 1 << 15;
const KEPT_SMALL = 16;
/** A small one is made longer, so that it will do for the next part. */
const ROOM_TO_SPARE = 1.25;

const int32: Int32Array[] = [];
const float64: Float64Array[] = [];

/** @returns a column of zeros to be given back to {@link giveBack}. */
export function borrowInt32(length: number): Int32Array {
  return borrow(int32, length) ?? new Int32Array(made(length)).subarray(0, length);
}

/** @returns a column of zeros to be given back to {@link giveBack}. */
export function borrowFloat64(length: number): Float64Array {
  return borrow(float64, length) ?? new Float64Array(made(length)).subarray(0, length);
}

/** Ends the use of borrowed columns. */
export function giveBack(...columns: readonly (Int32Array | Float64Array)[]): void {
  for (const column of columns) {
    const whole = column.buffer;
    if (column instanceof Int32Array) keep(int32, new Int32Array(whole));
    else keep(float64, new Float64Array(whole));
  }
}

/** Lets go of all columns given back. */
export function forgetScratch(): void {
  int32.length = 0;
  float64.length = 0;
}

function made(length: number): number {
  return length > SMALL ? length : Math.ceil(length * ROOM_TO_SPARE);
}

function borrow<T extends Int32Array | Float64Array>(free: T[], length: number): T | null {
  for (let at = 0; at < free.length; at++) {
    const column = free[at];
    // Much larger ones stay for those who need them.
    if (column.length < length || column.length > 2 * length + 1024) continue;
    free[at] = free[free.length - 1];
    free.pop();
    const part = column.subarray(0, length) as T;
    part.fill(0);
    return part;
  }
  return null;
}

function keep<T extends Int32Array | Float64Array>(free: T[], column: T): void {
  if (free.length < (column.length > SMALL ? KEPT : KEPT_SMALL)) free.push(column);
}
