import type { AttributeValue } from '../model/attributes.ts';
import type { Input, InputFile, Metric, Rejected } from '../model/input.ts';
import { type Memory, ownMemory } from '../model/shared-memory.ts';
import { SpanTableBuilder } from '../model/span-table.ts';
import type { Spill } from '../model/spill.ts';
import type { Counts as BlockCounts, BlockMaps, TableBlock } from '../model/table-block.ts';
import { canonicalId, SPAN_DIGITS, TRACE_DIGITS } from './ids.ts';
import { ProtoAttributes } from './otlp-proto-attributes.ts';
import { ProtoSpanScanner } from './otlp-proto-span-scan.ts';
import { quote } from './quote.ts';

/** Where in a file a record stands; as precise as its format allows. */
export type Position = Omit<Rejected, 'file' | 'reason'>;

/** What was collected in one place and is to be added in another. */
export interface CollectedPart {
  readonly block: TableBlock;
  readonly metrics: readonly Metric[];
  readonly rejected: readonly Rejected[];
  readonly invalidIds: number;
  readonly skipped: { readonly logs: number; readonly profiles: number };
}

/** Entries kept of what was rejected; beyond it only the count goes on. */
const MAX_REJECTED = 10_000;

interface Counts {
  readonly spans: number;
  readonly metrics: number;
  readonly logs: number;
  readonly profiles: number;
  readonly loadPlans: number;
}

const NOBODY: ReadonlyMap<string, readonly number[]> = new Map();

/** Why an input that ends too early may do so. */
export const STILL_WRITTEN = 'file still being written or cut';

function idFault(value: unknown): string {
  if (value === undefined || value === null) return 'absent';
  if (value === '') return 'empty';
  return typeof value === 'string' || typeof value === 'number' ? 'zero' : 'no text';
}

/** Gathers what all readers find in all files into one {@link Input}. */
export class Collector {
  readonly builder: SpanTableBuilder;
  readonly protoAttributes: ProtoAttributes;
  #protoSpans: ProtoSpanScanner | null = null;
  /** False: OTLP lines are read by JSON.parse, spans of protobuf field by field: the oracles of the scanners. */
  readonly fast: boolean;
  readonly metrics: Metric[] = [];
  readonly #rejected: Rejected[] = [];
  #rejectedTotal = 0;
  readonly #rejectedByFile = new Map<string, number>();
  readonly #files: (Omit<InputFile, 'rejected' | 'spans'> & { spans: number })[] = [];
  readonly #loadPlans: { path: string; content: AttributeValue }[] = [];
  #invalidIds = 0;
  readonly #skipped = { logs: 0, profiles: 0 };
  #path = '';
  #before = { spans: 0, metrics: 0, logs: 0, profiles: 0, loadPlans: 0 };
  #firstReason: string | null = null;
  readonly #awaiting = new Map<string, Map<string, number[]>>();
  /** What the parts taken so far hold. */
  #taken: BlockCounts;
  /** Index of the entry that says the stream of the file open now is cut, or -1. */
  #cut = -1;

  /**
   * @param keep the attribute keys whose values are kept; null: all.
   * @param memory what the columns lie in
   */
  constructor(fast = true, keep: ReadonlySet<string> | null = null, memory: Memory = ownMemory) {
    this.fast = fast;
    this.builder = new SpanTableBuilder(keep, memory);
    this.#taken = this.builder.counts;
    this.protoAttributes = new ProtoAttributes(this.builder);
  }

  /** Made when the first is asked for: what it remembers takes half a megabyte. */
  get protoSpans(): ProtoSpanScanner {
    this.#protoSpans ??= new ProtoSpanScanner(this.builder);
    return this.#protoSpans;
  }

  /** Rejections and load plans from here on belong to this file. */
  openFile(path: string): void {
    this.#path = path;
    this.#firstReason = null;
    this.#awaiting.clear();
    this.#cut = -1;
    this.#before = {
      ...this.#skipped,
      spans: this.builder.total,
      metrics: this.metrics.length,
      loadPlans: this.#loadPlans.length,
    };
  }

  /** Closes the file: what it was taken for, its size, and in one line why it gave no spans, if it gave none. */
  closeFile(format: string, bytes: number, note: string | null): void {
    this.#files.push({
      path: this.#path,
      format,
      bytes,
      spans: this.counts.spans,
      ...(note === null ? {} : { note }),
    });
  }

  get path(): string {
    return this.#path;
  }

  /** Runs a reader whose spans count as those of a file closed before. @returns what the reader returns. */
  behalfOf<T>(path: string | undefined, read: () => T): T {
    const spans = this.builder.total;
    const result = read();
    const file = this.#files.find((candidate) => candidate.path === path);
    if (file !== undefined) {
      const added = this.builder.total - spans;
      file.spans += added;
      this.#before.spans += added;
    }
    return result;
  }

  /** What the file open now has given so far. */
  get counts(): Counts {
    return {
      spans: this.builder.total - this.#before.spans,
      metrics: this.metrics.length - this.#before.metrics,
      logs: this.#skipped.logs - this.#before.logs,
      profiles: this.#skipped.profiles - this.#before.profiles,
      loadPlans: this.#loadPlans.length - this.#before.loadPlans,
    };
  }

  /** Why the first thing rejected in the file open now was rejected, or null. */
  get firstRejectedOfFile(): string | null {
    return this.#firstReason;
  }

  reject(at: Position, reason: string, file = this.#path): void {
    if (file === this.#path) this.#firstReason ??= reason;
    this.#rejectedTotal++;
    this.#rejectedByFile.set(file, (this.#rejectedByFile.get(file) ?? 0) + 1);
    if (this.#rejected.length < MAX_REJECTED) this.#rejected.push({ file, ...at, reason });
  }

  /** @returns the canonical ids of a span, or null when one is absent, empty or zero: the span is refused. */
  ids(
    trace: unknown,
    span: unknown,
    name: string,
    at: Position,
  ): { readonly traceId: string; readonly spanId: string } | null {
    const traceId = canonicalId(trace, TRACE_DIGITS);
    const spanId = canonicalId(span, SPAN_DIGITS);
    if (traceId !== '' && spanId !== '') return { traceId, spanId };
    const which = traceId === '' ? 'trace id' : 'span id';
    this.rejectSpan(name, `its ${which} is ${idFault(traceId === '' ? trace : span)}`, at);
    return null;
  }

  /** Refuses a span for its ids. */
  rejectSpan(name: string, fault: string, at: Position): void {
    this.#invalidIds++;
    this.reject(at, `span ${quote(name)}: ${fault}`);
  }

  /** Runs a reader of one record; when it throws, nothing of that record stays. @returns the error, or null. */
  attempt(read: () => void): unknown {
    const mark = this.builder.mark();
    const before = {
      metrics: this.metrics.length,
      rejected: this.#rejected.length,
      rejectedTotal: this.#rejectedTotal,
      rejectedOfFile: this.#rejectedByFile.get(this.#path) ?? 0,
      invalidIds: this.#invalidIds,
    };
    try {
      read();
      return null;
    } catch (error) {
      this.builder.rollback(mark);
      for (const rows of this.#awaiting.values()) {
        for (const [process, list] of rows)
          rows.set(
            process,
            list.filter((row) => row < mark.rows),
          );
      }
      this.metrics.length = before.metrics;
      this.#rejected.length = before.rejected;
      this.#rejectedTotal = before.rejectedTotal;
      this.#rejectedByFile.set(this.#path, before.rejectedOfFile);
      this.#invalidIds = before.invalidIds;
      return error;
    }
  }

  /** The compressed stream of the file open now ends too early. */
  streamCut(at: Position, reason: string): void {
    this.reject(at, reason);
    if (this.#rejected.length === this.#rejectedTotal) this.#cut = this.#rejected.length - 1;
  }

  /** True when {@link streamCut} was called for the file open now. */
  get isCut(): boolean {
    return this.#cut >= 0;
  }

  /** The input ends inside `what`. In a cut stream that is the same cut, and is told with it. */
  unfinished(at: Position, what: string, file = this.#path): void {
    if (this.#cut < 0 || file !== this.#path) {
      this.reject(at, `${what}: ${STILL_WRITTEN}`, file);
      return;
    }
    const entry = this.#rejected[this.#cut];
    this.#rejected[this.#cut] = { ...entry, reason: `${entry.reason}; in it an ${what}` };
  }

  /** True while rows may still be changed by what follows in the file. */
  get isAwaiting(): boolean {
    return this.#awaiting.size > 0;
  }

  /** A Jaeger span stands in this row whose process has not been seen yet. */
  awaitProcess(trace: string, process: string, row: number): void {
    let rows = this.#awaiting.get(trace);
    if (rows === undefined) this.#awaiting.set(trace, (rows = new Map()));
    const list = rows.get(process);
    if (list === undefined) rows.set(process, [row]);
    else list.push(row);
  }

  /** @returns the rows of this trace that wait for a process, by its name; they wait no longer. */
  awaited(trace: string): ReadonlyMap<string, readonly number[]> {
    const rows = this.#awaiting.get(trace);
    if (rows === undefined) return NOBODY;
    this.#awaiting.delete(trace);
    return rows;
  }

  skip(signal: 'logs' | 'profiles', count: number): void {
    this.#skipped[signal] += count;
  }

  loadPlan(content: AttributeValue): void {
    this.#loadPlans.push({ path: this.#path, content });
  }

  get rejectedTotal(): number {
    return this.#rejectedTotal;
  }

  /** Takes out all that was collected since the last time. @param buffer as for the builder. */
  takePart(buffer: ArrayBuffer | null): CollectedPart {
    const part = {
      block: this.builder.takeBlock(this.#taken, buffer),
      metrics: this.metrics.splice(0),
      rejected: this.#rejected.splice(0),
      invalidIds: this.#invalidIds,
      skipped: { ...this.#skipped },
    };
    this.#taken = this.builder.counts;
    this.#rejectedTotal = 0;
    this.#rejectedByFile.clear();
    this.#invalidIds = 0;
    this.#skipped.logs = 0;
    this.#skipped.profiles = 0;
    return part;
  }

  /** Adds what was collected elsewhere from the file open now. @param at where a position in the part stands in the file. */
  addPart(part: CollectedPart, maps: BlockMaps, at: (position: Position) => Position): void {
    this.builder.append(part.block, maps);
    this.metrics.push(...part.metrics);
    for (const { file: _, reason, ...position } of part.rejected) this.reject(at(position), reason);
    this.#invalidIds += part.invalidIds;
    this.#skipped.logs += part.skipped.logs;
    this.#skipped.profiles += part.skipped.profiles;
  }

  /** @param spill holds the rows that are not in memory, if any */
  finish(spill: Spill | null = null): Input {
    const unlisted = this.#rejectedTotal - this.#rejected.length;
    if (unlisted > 0) {
      this.#rejected.push({
        file: '',
        reason: `${unlisted} more rejected things are counted but not listed`,
      });
    }
    const spilled = spill?.finish() ?? null;
    return {
      table: spilled === null ? this.builder.build() : this.builder.build([]),
      spilled,
      metrics: this.metrics,
      files: this.#files.map((file) => ({ ...file, rejected: this.#rejectedByFile.get(file.path) ?? 0 })),
      rejected: this.#rejected,
      invalidIds: this.#invalidIds,
      skipped: this.#skipped,
      loadPlans: this.#loadPlans,
    };
  }
}
