import { now } from '../core/clock.ts';
import { JsonEncoder } from '../export/otlp-json.ts';

/** What is kept or forgotten as a whole. */
const CHUNK_MS = 1_000;

interface Chunk {
  readonly endMs: number;
  readonly lines: Buffer;
}

/** Encoded spans of the last seconds, oldest first out, in at most so many bytes. */
export class SpanRing {
  readonly #windowMs: number;
  readonly #maxBytes: number;
  readonly #encoder = new JsonEncoder();
  #chunks: Chunk[] = [];
  #bytes = 0;
  #chunkMs = now();
  #forgotten = 0;

  constructor(windowMs: number, maxBytes: number) {
    this.#windowMs = windowMs;
    this.#maxBytes = maxBytes;
  }

  /** Bytes kept. */
  get bytes(): number {
    return this.#bytes + this.#encoder.bytes;
  }

  /** Chunks given up before their time, because there was no room. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Adds one span by encoding it; a span that cannot be encoded is left out. */
  add(encode: (encoder: JsonEncoder) => void, atMs: number = now()): void {
    if (atMs - this.#chunkMs >= CHUNK_MS) this.#closeChunk(atMs);
    try {
      encode(this.#encoder);
    } catch {
      return;
    }
    // A second in which more happens than may be kept: its beginning goes first.
    if (this.#encoder.bytes > this.#maxBytes / 2) this.#closeChunk(atMs);
    else if (this.bytes > this.#maxBytes) this.#makeRoom();
  }

  /** @returns what was kept of the window that ends at `atMs`, as lines of OTLP/JSON; the ring is empty then. */
  take(atMs: number = now()): Buffer[] {
    this.#closeChunk(atMs);
    const lines = this.#chunks.map((chunk) => chunk.lines);
    this.#chunks = [];
    this.#bytes = 0;
    return lines;
  }

  #closeChunk(atMs: number): void {
    this.#chunkMs = atMs;
    const lines = this.#encoder.take();
    if (lines !== undefined) {
      this.#chunks.push({ endMs: atMs, lines });
      this.#bytes += lines.length;
    }
    while (this.#chunks.length > 0 && this.#chunks[0].endMs < atMs - this.#windowMs) this.#forgetFirst();
    this.#makeRoom();
  }

  #makeRoom(): void {
    while (this.bytes > this.#maxBytes && this.#chunks.length > 0) {
      this.#forgetFirst();
      this.#forgotten++;
    }
  }

  #forgetFirst(): void {
    this.#bytes -= this.#chunks.shift()?.lines.length ?? 0;
  }
}
