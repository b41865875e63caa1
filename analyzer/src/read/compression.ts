import type { Bytes } from './bytes.ts';
import { gunzip } from './gzip.ts';
import { unzstd, ZSTD_MAGIC } from './zstd.ts';

/** What is wrong with compressed bytes, and where; `isCut` when it is only that they end too early. */
export type OnFault = (reason: string, offset?: number, isCut?: boolean) => void;

export interface Compression {
  readonly name: string;
  readonly matches: (head: Buffer) => boolean;
  readonly decompress: (source: Bytes, onFault: OnFault) => Bytes;
}

/** First match wins; told by the first bytes, never by the file's name. */
const COMPRESSIONS: readonly Compression[] = [
  { name: 'gzip', matches: (head) => head[0] === 0x1f && head[1] === 0x8b, decompress: gunzip },
  { name: 'zstd', matches: isZstd, decompress: unzstd },
];

const UNSUPPORTED: readonly (readonly [string, readonly number[]])[] = [
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ['bzip2', [0x42, 0x5a, 0x68]],
  ['lz4', [0x04, 0x22, 0x4d, 0x18]],
  ['zip', [0x50, 0x4b, 0x03, 0x04]],
];

/** @returns how these first bytes are compressed, or null. */
export function compressionOf(head: Buffer): Compression | null {
  return COMPRESSIONS.find((compression) => compression.matches(head)) ?? null;
}

/** @returns the name of a compression we know but do not read, or null. */
export function unsupportedCompression(head: Buffer): string | null {
  return UNSUPPORTED.find(([, magic]) => magic.every((byte, i) => head[i] === byte))?.[0] ?? null;
}

function isZstd(head: Buffer): boolean {
  if (head.length < 4) return false;
  const magic = head.readUInt32LE(0);
  return magic === ZSTD_MAGIC || (magic & 0xfffffff0) >>> 0 === 0x184d2a50;
}

/** Bytes every input may expand to, whatever its size. */
const FREE_BYTES = 1 << 30;
/** Beyond that, at most this many bytes out of one. Traces shrink 15 to 50 times. */
const MAX_EXPANSION = 500;

/** Stops a small input that expands without end. */
export async function* bounded(
  source: Bytes,
  input: { readonly bytes: number },
  onFault: OnFault,
  freeBytes = FREE_BYTES,
): AsyncGenerator<Buffer> {
  let out = 0;
  for await (const chunk of source) {
    out += chunk.length;
    if (out > freeBytes && out > input.bytes * MAX_EXPANSION) {
      onFault(
        `${input.bytes} compressed bytes expand more than ${MAX_EXPANSION} times: taken for a decompression bomb, the rest is skipped`,
      );
      return;
    }
    yield chunk;
  }
}
