import { open } from 'node:fs/promises';

export type Bytes = AsyncIterable<Buffer>;

const BLOCK_BYTES = 1 << 20;

/**
 * @returns the bytes from..to of a file, block by block; into the same two blocks again and again while `blocks.reuse` is set.
 * The next block is read while the one before it is looked at.
 */
export async function* fileBytes(
  path: string,
  blocks: { reuse: boolean },
  from: number | null = null,
  to = Number.POSITIVE_INFINITY,
): AsyncGenerator<Buffer> {
  const file = await open(path);
  const pair: (Buffer | null)[] = [null, null];
  const read = (turn: number) => {
    const used = blocks.reuse ? pair[turn % 2] : null;
    const block = used ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
    pair[turn % 2] = block;
    // A pipe has no positions.
    const position = from === null ? null : from + turn * BLOCK_BYTES;
    const length = position === null ? BLOCK_BYTES : Math.max(0, Math.min(BLOCK_BYTES, to - position));
    const next = file.read(block, 0, length, position).then(({ bytesRead }) => block.subarray(0, bytesRead));
    // Who waits for it hears of a fault; nobody does who gave up before.
    next.catch(() => {});
    return next;
  };
  let next = read(0);
  try {
    for (let turn = 1; ; turn++) {
      const block = await next;
      if (block.length === 0) return;
      next = read(turn);
      yield block;
    }
  } finally {
    await next.catch(() => {});
    await file.close();
  }
}

/** @returns the bytes of a stream as buffers, empty chunks left out. */
export async function* streamBytes(stream: AsyncIterable<Uint8Array | string>): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    const bytes =
      typeof chunk === 'string'
        ? Buffer.from(chunk)
        : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (bytes.length > 0) yield bytes;
  }
}

/** Counts what passes, and tells. */
export async function* counted(
  source: Bytes,
  counter: { bytes: number },
  onBlock: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    counter.bytes += chunk.length;
    onBlock(chunk.length);
    yield chunk;
  }
}

/** @returns the first bytes (fewer where the source ends before) and a source that still yields them. */
export async function peek(
  source: Bytes,
  bytes: number,
): Promise<{ head: Buffer; source: Bytes; ended: boolean }> {
  const iterator = source[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  let length = 0;
  let ended = false;
  while (length < bytes && !ended) {
    const next = await iterator.next();
    if (next.done) ended = true;
    else {
      chunks.push(next.value);
      length += next.value.length;
    }
  }
  const head = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
  return { head, ended, source: again(head, iterator) };
}

async function* again(head: Buffer, iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}

/** Bytes of a source on demand, for formats that are walked by lengths. */
export class ByteQueue {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  #last: Buffer = Buffer.alloc(0);
  #ended = false;
  /** Bytes taken so far. */
  offset = 0;

  constructor(source: Bytes) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** @returns false when fewer bytes are left in the whole source. */
  async need(bytes: number): Promise<boolean> {
    while (this.#rest.length < bytes && !this.#ended) {
      const next = await this.#chunks.next();
      if (next.done) this.#ended = true;
      else this.#rest = this.#rest.length === 0 ? next.value : Buffer.concat([this.#rest, next.value]);
    }
    return this.#rest.length >= bytes;
  }

  /** Bytes at hand without waiting. */
  get ready(): number {
    return this.#rest.length;
  }

  /** @returns the next bytes, which must be at hand, without taking them. */
  look(bytes: number): Buffer {
    return this.#rest.subarray(0, bytes);
  }

  take(bytes: number): Buffer {
    this.#last = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    this.offset += this.#last.length;
    return this.#last;
  }

  /** Undoes the end of the last take. */
  putBack(bytes: number): void {
    if (bytes === 0) return;
    const back = this.#last.subarray(this.#last.length - bytes);
    this.#rest = this.#rest.length === 0 ? back : Buffer.concat([back, this.#rest]);
    this.offset -= bytes;
  }
}
