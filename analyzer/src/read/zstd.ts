import { createZstdDecompress, zstdDecompressSync } from 'node:zlib';
import { ByteQueue, type Bytes } from './bytes.ts';
import { STILL_WRITTEN } from './collector.ts';
import type { OnFault } from './compression.ts';
import { OUTPUT_BYTES, unpack } from './unpack.ts';

export const ZSTD_MAGIC = 0xfd2fb528;
const MAGIC_BYTES = [0x28, 0xb5, 0x2f, 0xfd];
const CUT = `the zstd stream is cut off: ${STILL_WRITTEN}`;

/** A frame up to this size is unpacked in one call; larger ones as a stream. */
const SMALL_FRAME = 1 << 20;
/** A small frame that unpacks to more than this is streamed too. */
const SMALL_RESULT = 16 << 20;

const BLOCK_HEADER = 3;
const RESERVED_BLOCK = 3;
const RLE_BLOCK = 1;

/**
 * zstd of any number of frames (RFC 8878). Node's decoder stops after the first frame and reports success, and
 * takes a cut frame for a whole one: so frames are walked here by their headers and unpacked one by one.
 */
export async function* unzstd(source: Bytes, onFault: OnFault): AsyncGenerator<Buffer> {
  const reader = new FrameReader(source);
  for (;;) {
    const offset = reader.offset;
    const frame = await reader.begin();
    if (frame === 'end') return;
    if (frame === 'skippable') continue;
    if (frame === 'cut') {
      onFault(CUT, offset, true);
      return;
    }
    if (frame === 'garbage') {
      onFault('no zstd frame begins here: what follows is lost', offset);
      return;
    }
    yield* unpackFrame(reader, offset, onFault);
    if (reader.fault !== null) {
      onFault(reader.fault, offset, reader.isCut);
      return;
    }
  }
}

async function* unpackFrame(reader: FrameReader, offset: number, onFault: OnFault): AsyncGenerator<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (let piece = await reader.piece(); piece !== null; piece = await reader.piece()) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > SMALL_FRAME) break;
  }
  if (bytes <= SMALL_FRAME && reader.fault === null) {
    const whole = unpackSmall(Buffer.concat(pieces));
    if (whole !== null) {
      if (whole.length > 0) yield whole;
      return;
    }
  }
  try {
    yield* unpack(remaining(pieces, reader), createZstdDecompress({ chunkSize: OUTPUT_BYTES }));
  } catch (error) {
    // A cut frame has its own message.
    if (reader.fault === null)
      onFault(`a zstd frame is broken (${(error as Error).message}): the rest of it is lost`, offset);
  }
  // The decoder may stop early; the next frame begins where this one ends.
  while ((await reader.piece()) !== null);
}

async function* remaining(pieces: readonly Buffer[], reader: FrameReader): AsyncGenerator<Buffer> {
  yield* pieces;
  for (let piece = await reader.piece(); piece !== null; piece = await reader.piece()) yield piece;
}

/** @returns null when the frame is broken or too large for one call. */
function unpackSmall(frame: Buffer): Buffer | null {
  try {
    return zstdDecompressSync(frame, { maxOutputLength: SMALL_RESULT });
  } catch {
    return null;
  }
}

/** Hands out the bytes of one frame after the other, found by block headers without unpacking anything. */
class FrameReader {
  readonly #queue: ByteQueue;
  #checksum = 0;
  #state: 'header' | 'block' | 'checksum' | 'done' = 'done';
  /** Bytes of the block begun that were not handed out yet. */
  #left = 0;
  #lastBlock = false;
  /** Set when the input ends or breaks inside the frame. */
  fault: string | null = null;
  /** True when that fault is the end of the input. */
  isCut = false;

  constructor(source: Bytes) {
    this.#queue = new ByteQueue(source);
  }

  get offset(): number {
    return this.#queue.offset;
  }

  async begin(): Promise<'frame' | 'skippable' | 'end' | 'garbage' | 'cut'> {
    const queue = this.#queue;
    if (!(await queue.need(1))) return 'end';
    if (!(await queue.need(5))) return isPrefixOfMagic(queue.look(queue.ready)) ? 'cut' : 'garbage';
    const magic = queue.look(4).readUInt32LE(0);
    if (magic === ZSTD_MAGIC) {
      this.#state = 'header';
      return 'frame';
    }
    if ((magic & 0xfffffff0) >>> 0 !== 0x184d2a50) return 'garbage';
    if (!(await queue.need(8))) return 'cut';
    let left = 8 + queue.look(8).readUInt32LE(4);
    while (left > 0 && (await queue.need(1))) left -= queue.take(Math.min(left, queue.ready)).length;
    return 'skippable';
  }

  /** @returns the next bytes of the frame, null after its last. */
  async piece(): Promise<Buffer | null> {
    const queue = this.#queue;
    switch (this.#state) {
      case 'header':
        return this.#header();
      case 'block':
        return this.#block();
      case 'checksum':
        this.#state = 'done';
        return (await queue.need(4)) ? queue.take(4) : this.#cut();
      default:
        return null;
    }
  }

  async #header(): Promise<Buffer | null> {
    const queue = this.#queue;
    const descriptor = queue.look(5)[4];
    const single = (descriptor & 0x20) !== 0;
    const dictionaryBytes = [0, 1, 2, 4][descriptor & 3];
    const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >> 6];
    const length = 5 + (single ? 0 : 1) + dictionaryBytes + sizeBytes;
    if (!(await queue.need(length))) return this.#cut();
    this.#checksum = (descriptor & 4) !== 0 ? 4 : 0;
    this.#state = 'block';
    this.#left = 0;
    this.#lastBlock = false;
    return queue.take(length);
  }

  async #block(): Promise<Buffer | null> {
    const queue = this.#queue;
    if (this.#left > 0) {
      if (!(await queue.need(1))) return this.#cut();
      const piece = queue.take(Math.min(this.#left, queue.ready));
      this.#left -= piece.length;
      return piece;
    }
    if (this.#lastBlock) {
      this.#state = this.#checksum > 0 ? 'checksum' : 'done';
      return this.piece();
    }
    if (!(await queue.need(BLOCK_HEADER))) return this.#cut();
    const header = queue.look(BLOCK_HEADER).readUIntLE(0, BLOCK_HEADER);
    const type = (header >> 1) & 3;
    if (type === RESERVED_BLOCK) {
      this.fault = 'a zstd frame has a block of no known type: what follows is lost';
      this.#state = 'done';
      return null;
    }
    this.#lastBlock = (header & 1) !== 0;
    this.#left = type === RLE_BLOCK ? 1 : header >> 3;
    return queue.take(BLOCK_HEADER);
  }

  /** The rest, although incomplete, may still give bytes. */
  #cut(): Buffer | null {
    const queue = this.#queue;
    this.isCut = true;
    this.fault = CUT;
    this.#state = 'done';
    return queue.ready > 0 ? queue.take(queue.ready) : null;
  }
}

function isPrefixOfMagic(bytes: Buffer): boolean {
  return bytes.length <= 4 && bytes.every((byte, i) => byte === MAGIC_BYTES[i]);
}
