type Column = Float32Array | Uint32Array | Uint16Array | Uint8Array | Int32Array | Int16Array | Float64Array;

/** @returns the larger column with the smaller one's content. */
export function grown<T extends Column>(column: T, larger: T): T {
  larger.set(column as never);
  return larger;
}

/** Small tables double; large ones grow by half, for memory is what limits them. */
export function grownLength(length: number): number {
  return length < 1 << 20 ? length * 2 : Math.ceil(length * 1.5);
}
