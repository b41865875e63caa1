import { statSync } from 'node:fs';
import type { Input } from '../model/input.ts';
import { type Bytes, counted, fileBytes, peek, streamBytes } from './bytes.ts';
import { Collector } from './collector.ts';
import { bounded, compressionOf, type OnFault, unsupportedCompression } from './compression.ts';
import { readContent, rejectTorn } from './content.ts';
import type { TornLine } from './json-values.ts';
import { expandPaths, type InputPath } from './paths.ts';

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
  const collector = new Collector(options.parser !== 'slow', options.keep ?? null);
  const items = expandPaths(paths);
  const progress = progressOf(items, collector, options);
  let torn: TornLine | null = null;
  for (const item of items) {
    collector.openFile(item.path);
    if (item.fault !== null) {
      collector.reject({}, item.fault);
      collector.closeFile('unreadable', 0, item.fault);
      continue;
    }
    torn = await readFile(item.path, collector, options, progress, torn);
  }
  if (torn !== null) rejectTorn(torn, collector);
  return collector.finish();
}

/** @returns what to call with the bytes of each block read. */
function progressOf(
  items: readonly InputPath[],
  collector: Collector,
  { onProgress }: ReadOptions,
): (bytes: number) => void {
  if (onProgress === undefined) return () => {};
  let bytes = 0;
  const files = items.filter((item) => item.fault === null);
  const totalBytes = files.some((item) => item.path === '-')
    ? null
    : files.reduce((sum, item) => sum + (statSync(item.path, { throwIfNoEntry: false })?.size ?? 0), 0);
  return (block) => {
    bytes += block;
    onProgress({ bytes, totalBytes, spans: collector.builder.length });
  };
}

async function readFile(
  path: string,
  collector: Collector,
  options: ReadOptions,
  progress: (bytes: number) => void,
  torn: TornLine | null,
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
    const result = await readContent(head, source, collector, torn);
    const content = result?.format ?? unreadable(head, collector);
    const format = [content, ...layers.reverse()].join(', ');
    collector.closeFile(format, input.bytes, whyNoSpans(head, collector, result?.torn ?? null));
    if (!result?.torn) return null;
    return { ...result.torn, file: path };
  } catch (error) {
    const reason = `cannot be read: ${(error as Error).message}`;
    collector.reject({}, reason);
    collector.closeFile('unreadable', input.bytes, reason);
    return null;
  } finally {
    // Readers that gave up in the middle leave the source suspended, with its file open.
    await raw.return(undefined);
  }
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
