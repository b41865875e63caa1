/**
 * Takes parts one after the other until all are taken, by this thread or another.
 *
 * @param next number of the part to be taken next, shared by the threads
 */
export function takeParts(count: number, next: Int32Array, read: (part: number) => void): void {
  for (;;) {
    const part = Atomics.add(next, 0, 1);
    if (part >= count) return;
    read(part);
  }
}
