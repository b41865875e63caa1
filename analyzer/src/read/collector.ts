import type { AttributeValue } from '../model/attributes.ts';
import type { Input, InputFile, Metric, Rejected } from '../model/input.ts';
import { SpanTableBuilder } from '../model/span-table.ts';
import { canonicalId, SPAN_DIGITS, TRACE_DIGITS } from './ids.ts';

/** Where in a file a record stands; as precise as its format allows. */
export type Position = Omit<Rejected, 'file' | 'reason'>;

/** Entries kept of what was rejected; beyond it only the count goes on. */
const MAX_REJECTED = 10_000;

function idFault(value: unknown): string {
  if (value === undefined || value === null) return 'absent';
  if (value === '') return 'empty';
  return typeof value === 'string' || typeof value === 'number' ? 'zero' : 'no text';
}

/** Gathers what all readers find in all files into one {@link Input}. */
export class Collector {
  readonly builder = new SpanTableBuilder();
  readonly metrics: Metric[] = [];
  readonly #rejected: Rejected[] = [];
  #rejectedTotal = 0;
  readonly #rejectedByFile = new Map<string, number>();
  readonly #files: Omit<InputFile, 'rejected'>[] = [];
  readonly #loadPlans: { path: string; content: AttributeValue }[] = [];
  #invalidIds = 0;
  readonly #skipped = { logs: 0, profiles: 0 };
  #path = '';
  #spansBefore = 0;

  /** Rejections and load plans from here on belong to this file. */
  openFile(path: string): void {
    this.#path = path;
    this.#spansBefore = this.builder.length;
  }

  /** Closes the file: what it was taken for, its size, and in one line why it gave no spans, if it gave none. */
  closeFile(format: string, bytes: number, note: string | null): void {
    this.#files.push({
      path: this.#path,
      format,
      bytes,
      spans: this.spansOfFile,
      ...(note === null ? {} : { note }),
    });
  }

  get path(): string {
    return this.#path;
  }

  get spansOfFile(): number {
    return this.builder.length - this.#spansBefore;
  }

  reject(at: Position, reason: string, file = this.#path): void {
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
    this.#invalidIds++;
    const which = traceId === '' ? 'trace id' : 'span id';
    this.reject(at, `span "${name.slice(0, 80)}": its ${which} is ${idFault(traceId === '' ? trace : span)}`);
    return null;
  }

  skip(signal: 'logs' | 'profiles', count: number): void {
    this.#skipped[signal] += count;
  }

  loadPlan(content: AttributeValue): void {
    this.#loadPlans.push({ path: this.#path, content });
  }

  finish(): Input {
    const unlisted = this.#rejectedTotal - this.#rejected.length;
    if (unlisted > 0) {
      this.#rejected.push({
        file: '',
        reason: `${unlisted} more rejected things are counted but not listed`,
      });
    }
    return {
      table: this.builder.build(),
      metrics: this.metrics,
      files: this.#files.map((file) => ({ ...file, rejected: this.#rejectedByFile.get(file.path) ?? 0 })),
      rejected: this.#rejected,
      invalidIds: this.#invalidIds,
      skipped: this.#skipped,
      loadPlans: this.#loadPlans,
    };
  }
}
