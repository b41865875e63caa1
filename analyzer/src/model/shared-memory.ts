/*
 * Columns that all threads of the process can read. They are written by one thread, before the others hear of them.
 */

export function sharedU32(length: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(length * 4));
}

export function sharedI32(length: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(length * 4));
}

export function sharedU8(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length));
}

export function sharedF64(length: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(length * 8));
}

/** A list of texts that other threads can read without taking it over. */
export interface SharedTexts {
  /** UTF-8, end to end. */
  readonly bytes: Uint8Array;
  /** Text i is bytes[offset[i]] .. bytes[offset[i + 1]]. */
  readonly offset: Uint32Array;
}

export function shareTexts(count: number, textOf: (i: number) => string): SharedTexts {
  const offset = sharedU32(count + 1);
  for (let i = 0; i < count; i++) offset[i + 1] = offset[i] + Buffer.byteLength(textOf(i));
  const bytes = sharedU8(offset[count]);
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
