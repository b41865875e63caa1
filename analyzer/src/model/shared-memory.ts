/*
 * Columns that all threads of the process can read. They are written by one thread, before the others hear of them.
 */

/** What columns are made of: memory of this thread, or memory that all threads of the process can read. */
export type Memory = (bytes: number) => ArrayBufferLike;

export const ownMemory: Memory = (bytes) => new ArrayBuffer(bytes);
export const sharedMemory: Memory = (bytes) => new SharedArrayBuffer(bytes);

export function isShared({ buffer }: { readonly buffer: ArrayBufferLike }): boolean {
  return buffer instanceof SharedArrayBuffer;
}

export function sharedI32(length: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(length * 4));
}

/** @returns the same numbers where all threads can read them. */
export function sharedCopy<T extends Uint8Array | Uint32Array | Int32Array | Float64Array>(column: T): T {
  const make = column.constructor as new (buffer: SharedArrayBuffer) => T;
  const copy = new make(new SharedArrayBuffer(column.length * column.BYTES_PER_ELEMENT));
  copy.set(column);
  return copy;
}

/** A list of texts that other threads can read without taking it over. */
export interface SharedTexts {
  /** UTF-8, end to end. */
  readonly bytes: Uint8Array;
  /** Text i is bytes[offset[i]] .. bytes[offset[i + 1]]. */
  readonly offset: Uint32Array;
}

export function shareTexts(count: number, textOf: (i: number) => string): SharedTexts {
  const offset = new Uint32Array(new SharedArrayBuffer(4 * (count + 1)));
  for (let i = 0; i < count; i++) offset[i + 1] = offset[i] + Buffer.byteLength(textOf(i));
  const bytes = new Uint8Array(new SharedArrayBuffer(offset[count]));
  const buffer = bufferOver(bytes);
  for (let i = 0; i < count; i++) buffer.write(textOf(i), offset[i]);
  return { bytes, offset };
}

/** @returns what reads the texts one by one. */
export function readerOfTexts({ bytes, offset }: SharedTexts): (i: number) => string {
  const buffer = bufferOver(bytes);
  return (i) => buffer.toString('utf8', offset[i], offset[i + 1]);
}

/** @returns the same bytes with the methods of a Buffer. */
export function bufferOver({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer as unknown as ArrayBuffer, byteOffset, length);
}
