import { crc32, createInflateRaw } from 'node:zlib';
import { ByteQueue, type Bytes } from './bytes.ts';
import { STILL_WRITTEN } from './collector.ts';
import type { OnFault } from './compression.ts';
import { OUTPUT_BYTES, unpack } from './unpack.ts';

const FLAG = { headerCrc: 2, extra: 4, name: 8, comment: 16 } as const;
const CUT = `the gzip stream is cut off: ${STILL_WRITTEN}`;

/**
 * gzip of any number of members (RFC 1952), each unpacked alone: what stands before a fault is passed on, and
 * what follows the last member is told apart from a broken one.
 */
export async function* gunzip(source: Bytes, onFault: OnFault): AsyncGenerator<Buffer> {
  const queue = new ByteQueue(source);
  while (await queue.need(1)) {
    const offset = queue.offset;
    const header = await readHeader(queue);
    if (header !== 'ok') {
      if (header === 'cut') onFault(CUT, offset, true);
      else onFault('the bytes behind the last gzip member are not gzip: skipped', offset);
      return;
    }
    const inflate = createInflateRaw({ chunkSize: OUTPUT_BYTES });
    let crc = 0;
    let size = 0;
    const fed = { bytes: 0 };
    try {
      for await (const chunk of unpack(everything(queue, fed), inflate)) {
        crc = crc32(chunk, crc);
        size = (size + chunk.length) >>> 0;
        yield chunk;
      }
    } catch (error) {
      const cut = (error as NodeJS.ErrnoException).code === 'Z_BUF_ERROR';
      const reason = `the gzip stream is broken (${(error as Error).message}): what follows is lost`;
      onFault(cut ? CUT : reason, offset, cut);
      return;
    }
    queue.putBack(fed.bytes - inflate.bytesWritten);
    if (!(await queue.need(8))) {
      onFault(CUT, offset, true);
      return;
    }
    const trailer = queue.take(8);
    if (trailer.readUInt32LE(0) !== crc || trailer.readUInt32LE(4) !== size) {
      onFault('the checksum of a gzip member is wrong: its content is read, but may be damaged', offset);
    }
  }
}

async function* everything(queue: ByteQueue, fed: { bytes: number }): AsyncGenerator<Buffer> {
  while (await queue.need(1)) {
    const chunk = queue.take(queue.ready);
    fed.bytes += chunk.length;
    yield chunk;
  }
}

async function readHeader(queue: ByteQueue): Promise<'ok' | 'cut' | 'foreign'> {
  const known = await queue.need(10);
  const head = queue.look(10);
  if (head[0] !== 0x1f || (head.length > 1 && head[1] !== 0x8b) || (head.length > 2 && head[2] !== 8))
    return 'foreign';
  if (!known) return 'cut';
  const flags = queue.take(10)[3];
  if (flags & FLAG.extra) {
    if (!(await queue.need(2))) return 'cut';
    const length = queue.take(2).readUInt16LE(0);
    if (!(await queue.need(length))) return 'cut';
    queue.take(length);
  }
  if (flags & FLAG.name && !(await skipText(queue))) return 'cut';
  if (flags & FLAG.comment && !(await skipText(queue))) return 'cut';
  if (flags & FLAG.headerCrc) {
    if (!(await queue.need(2))) return 'cut';
    queue.take(2);
  }
  return 'ok';
}

async function skipText(queue: ByteQueue): Promise<boolean> {
  while (await queue.need(1)) if (queue.take(1)[0] === 0) return true;
  return false;
}
