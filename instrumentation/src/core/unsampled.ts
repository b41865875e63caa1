import type { ExportableSpan } from '../export/exportable-span.ts';
import type { RecordedSpan } from '../standalone/recorded-span.ts';
import type { FinishedSpan } from './finished-span.ts';
import type { SpanOrigin } from './lazy-span.ts';

/** Takes the ended spans of requests that were not sampled. */
export interface UnsampledSink {
  onEnd(span: ExportableSpan): void;
  onFinished(span: FinishedSpan, origin: SpanOrigin): void;
  onRecorded(span: RecordedSpan): void;
}

let sink: UnsampledSink | undefined;

/** Unsampled requests are recorded while somebody takes them; they are not exported, and say so to others. */
export function setUnsampledSink(next: UnsampledSink | undefined): void {
  sink = next;
}

/** @returns who takes unsampled spans; undefined: nobody, then they are not recorded. */
export function unsampledSink(): UnsampledSink | undefined {
  return sink;
}
