import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Input } from '../model/input.ts';
import { ownMemory, sharedMemory } from '../model/shared-memory.ts';
import { Spill } from '../model/spill.ts';
import { NoRoomForSpans } from '../model/spilled-table.ts';
import { type Bytes, counted, fileBytes, peek, streamBytes } from './bytes.ts';
import { Collector } from './collector.ts';
import { bounded, compressionOf, type OnFault, unsupportedCompression } from './compression.ts';
import { readContent, rejectTorn } from './content.ts';
import type { TornLine } from './json-values.ts';
import type { LargeFile } from './large-file.ts';
import { expandPaths, type InputPath } from './paths.ts';
import { RangePool } from './range-pool.ts';

export interface ReadOptions {
  /** What `-` reads; the process's standard input by default. */
  readonly stdin?: AsyncIterable<Uint8Array | string>;
  /** Bytes any compressed input may expand to, however small it is (1 GiB by default). */
  readonly freeExpansionBytes?: number;
  /** Called after every block, some hundred times a gigabyte. */
  readonly onProgress?: (progress: ReadProgress) => void;
  /**
   * Attribute keys whose values are kept, for a third of the memory and twice the speed; all by default. Events are
   * kept with all attributes only. Asking the table for another key throws.
   */
  readonly keep?: ReadonlySet<string>;
  /** `slow` reads OTLP lines by JSON.parse alone: the same table, several times slower. To compare with. */
  readonly parser?: 'fast' | 'slow';
  /**
   * Threads that read plain files where all together are large; by default as many as there are processors, 4 at most.
   * The table is the same for any number of them.
   */
  readonly threads?: number;
  /** Bytes of input from which threads are worth their start (300 MB by default). */
  readonly threadsFromBytes?: number;
  /**
   * Memory that reading and analysis may take, bytes. What does not fit is kept in a file ({@link Input.spilled}); without
   * a limit nothing is.
   */
  readonly memoryBytes?: number;
  /** The columns lie in memory that all threads of the process can read. */
  readonly shared?: boolean;
}

export interface ReadProgress {
  readonly bytes: number;
  /** Bytes of all files, as they stand on disk; null when standard input is among them. */
  readonly totalBytes: number | null;
  readonly spans: number;
}

/** Enough to tell every format: the first record's outer lengths, or the first line's beginning. */
const HEAD_BYTES = 4096;
/** A compressed file inside a compressed file is opened; beyond this it is an attack. */
const MAX_LAYERS = 3;

/**
 * Reads trace exports of any make and size into one {@link Input}: files, directories (a run directory, or one full
 * of exports), globs, and `-` for standard input. A trace may be spread over all of them.
 *
 * Formats are told by content, never by name. What cannot be read is listed in `rejected` and the rest is read;
 * nothing in an input makes this throw.
 */
export async function readInputs(paths: readonly string[], options: ReadOptions = {}): Promise<Input> {
  const memory = options.shared === true ? sharedMemory : ownMemory;
  const collector = new Collector(options.parser !== 'slow', options.keep ?? null, memory);
  const items = expandPaths(paths);
  const bytes = bytesOf(items);
  const spill =
    options.memoryBytes === undefined ? null : new Spill(collector.builder, options.memoryBytes, bytes);
  const progress = progressOf(bytes, collector, options, spill);
  const pool = poolFor(bytes ?? 0, options);
  let torn: TornLine | null = null;
  try {
    for (const item of items) {
      collector.openFile(item.path);
      if (item.fault !== null) {
        collector.reject({}, item.fault);
        collector.closeFile('unreadable', 0, item.fault);
        continue;
      }
      torn = await readFile(item.path, collector, options, progress, torn, pool);
    }
    if (torn !== null) rejectTorn(torn, collector);
    return collector.finish(spill);
  } catch (error) {
    spill?.close();
    throw error;
  } finally {
    await pool?.close();
  }
}

/** @returns bytes of all files; null when standard input is among them. */
function bytesOf(items: readonly InputPath[]): number | null {
  const files = items.filter((item) => item.fault === null);
  if (files.some((item) => item.path === '-')) return null;
  return files.reduce((sum, item) => sum + (statSync(item.path, { throwIfNoEntry: false })?.size ?? 0), 0);
}

const THREADS_FROM_BYTES = 300e6;
/** More read hardly faster: one thread merges what all have read. */
const MAX_THREADS = 4;

/** Memory a thread takes, and the share of a memory limit all but the first may take. */
const THREAD_BYTES = 50e6;
const THREADS_SHARE = 1 / 8;

function poolFor(bytes: number, options: ReadOptions): RangePool | null {
  const { memoryBytes = Number.POSITIVE_INFINITY } = options;
  const affordable = 1 + Math.floor((memoryBytes * THREADS_SHARE) / THREAD_BYTES);
  const threads = Math.min(options.threads ?? usualThreads(options), affordable);
  if (threads < 2 || bytes < (options.threadsFromBytes ?? THREADS_FROM_BYTES)) return null;
  return new RangePool(threads, { fast: options.parser !== 'slow', keep: options.keep ?? null });
}

/** Where every text is kept the one that merges has as much to do as one that reads: two gain nothing then. */
function usualThreads({ keep }: ReadOptions): number {
  const threads = Math.min(availableParallelism(), MAX_THREADS);
  return keep === undefined && threads < 3 ? 1 : threads;
}

/** @returns what to call with the bytes of each block read. */
function progressOf(
  totalBytes: number | null,
  collector: Collector,
  { onProgress }: ReadOptions,
  spill: Spill | null,
): (bytes: number) => void {
  if (onProgress === undefined && spill === null) return () => {};
  let bytes = 0;
  return (block) => {
    bytes += block;
    // A block comes when what came before it has been read.
    if (!collector.isAwaiting) spill?.between(bytes);
    onProgress?.({ bytes, totalBytes, spans: collector.builder.total });
  };
}

async function readFile(
  path: string,
  collector: Collector,
  options: ReadOptions,
  progress: (bytes: number) => void,
  torn: TornLine | null,
  pool: RangePool | null,
): Promise<TornLine | null> {
  const input = { bytes: 0 };
  const onFault: OnFault = (reason, offset, isCut) => {
    const at = offset === undefined ? {} : { offset };
    if (isCut) collector.streamCut(at, reason);
    else collector.reject(at, reason);
  };
  const blocks = { reuse: false };
  const raw = path === '-' ? streamBytes(options.stdin ?? process.stdin) : fileBytes(path, blocks);
  try {
    let { head, source } = await peek(counted(raw, input, progress), HEAD_BYTES);
    const layers: string[] = [];
    for (;;) {
      const compression = compressionOf(head);
      if (compression === null || layers.length === MAX_LAYERS) break;
      layers.push(compression.name);
      const content: Bytes = bounded(
        compression.decompress(source, onFault),
        input,
        onFault,
        options.freeExpansionBytes,
      );
      ({ head, source } = await peek(content, HEAD_BYTES));
    }
    // Every reader of plain content copies what it is handed.
    blocks.reuse = layers.length === 0;
    if (layers.length === 0 && path !== '-') reserve(path, collector);
    const large = pool === null || layers.length > 0 ? null : largeFile(path, pool, options, input, progress);
    const result = await readContent(head, source, collector, torn, large);
    const content = result?.format ?? unreadable(head, collector);
    const format = [content, ...layers.reverse()].join(', ');
    collector.closeFile(format, input.bytes, whyNoSpans(head, collector, result?.torn ?? null));
    if (!result?.torn) return null;
    return { ...result.torn, file: path };
  } catch (error) {
    if (error instanceof NoRoomForSpans) throw error;
    const reason = `cannot be read: ${(error as Error).message}`;
    collector.reject({}, reason);
    collector.closeFile('unreadable', input.bytes, reason);
    return null;
  } finally {
    // Readers that gave up in the middle leave the source suspended, with its file open.
    await raw.return(undefined);
  }
}

/** Threads have little to gain from smaller files. */
const LARGE_BYTES = 4 << 20;

/** @returns the file as one to be read by several threads; null where it is none. What was read of it is read again. */
function largeFile(
  path: string,
  pool: RangePool,
  { threadsFromBytes = LARGE_BYTES }: ReadOptions,
  input: { bytes: number },
  onBlock: (bytes: number) => void,
): LargeFile | null {
  const stats = path === '-' ? undefined : statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile() || stats.size < Math.min(threadsFromBytes, LARGE_BYTES))
    return null;
  onBlock(-input.bytes);
  input.bytes = 0;
  return { path, size: stats.size, pool, input, onBlock };
}

/** Bytes of JSON or protobuf of a usual span, and of one of its attributes. */
const SPAN_BYTES = 800;
const ATTRIBUTE_BYTES = 80;
/** Nothing is reserved for smaller files, and not more than for this many bytes. */
const RESERVE_FROM = 16 << 20;
const RESERVE_UP_TO = 4 * 2 ** 30;

function reserve(path: string, collector: Collector): void {
  const bytes = Math.min(statSync(path).size, RESERVE_UP_TO);
  if (bytes < RESERVE_FROM) return;
  collector.builder.reserve(Math.ceil(bytes / SPAN_BYTES), Math.ceil(bytes / ATTRIBUTE_BYTES));
}

function unreadable(head: Buffer, collector: Collector): string {
  const compression = unsupportedCompression(head);
  const utf16 = head.length > 1 && [0xfffe, 0xfeff].includes(head.readUInt16BE(0));
  const reason = utf16
    ? 'UTF-16 text, which is not read: convert it to UTF-8'
    : compression === null
      ? `unknown format: begins with bytes ${head.subarray(0, 8).toString('hex')}`
      : `compressed with ${compression}, which is not read: decompress it first, or use gzip or zstd`;
  collector.reject({ offset: 0 }, reason);
  return compression ?? 'unknown';
}

/** One line that says why a file gave no spans; null when it gave some or was never meant to. */
function whyNoSpans(head: Buffer, collector: Collector, torn: TornLine | null): string | null {
  const { spans, metrics, logs, profiles, loadPlans } = collector.counts;
  if (spans > 0 || loadPlans > 0) return null;
  if (head.length === 0) return 'the file is empty';
  const found = [
    metrics > 0 ? plural(metrics, 'metric') : '',
    logs > 0 ? plural(logs, 'log message') : '',
    profiles > 0 ? plural(profiles, 'profile message') : '',
  ].filter((text) => text !== '');
  if (found.length > 0) return `no spans, only ${found.join(' and ')}`;
  if (torn !== null) return torn.salvage === null ? 'no spans: its only line is unfinished' : null;
  const rejected = collector.firstRejectedOfFile;
  if (rejected !== null) return `no spans: ${rejected}`;
  return head.every((byte) => byte === 10 || byte === 13 || byte === 32 || byte === 9)
    ? 'the file holds blank lines only'
    : 'no spans in it';
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
