import { join } from 'node:path';
import { now } from '../core/clock.ts';
import type { FinishedSpan } from '../core/finished-span.ts';
import type { SpanOrigin } from '../core/lazy-span.ts';
import type { RootRecord } from '../core/root.ts';
import { addTap, removeTap, type Tap } from '../core/taps.ts';
import { setUnsampledSink, type UnsampledSink } from '../core/unsampled.ts';
import { say } from '../core/warn.ts';
import type { ExportableSpan } from '../export/exportable-span.ts';
import { LineFile } from '../export/line-file.ts';
import type { RecorderConfig } from '../part-settings.ts';
import type { RecordedSpan } from '../standalone/recorded-span.ts';
import { setDump } from './dump.ts';
import { LatencyBound } from './latency-bound.ts';
import { SpanRing } from './span-ring.ts';

const DEFAULT_BYTES = 64_000_000;
const SIGNAL = 'SIGUSR2';
/** Nobody else writes this file, so a write need not end with a line. */
const PIECE_BYTES = 256 * 1024;

/**
 * Keeps the requests that were not sampled for some seconds, and writes them as a trace export when somebody
 * asks, or when the latency breaks its bound: what went wrong is on record although it was not chosen.
 */
class FlightRecorder implements UnsampledSink, Tap {
  readonly #config: RecorderConfig;
  readonly #ring: SpanRing;
  readonly #bound: LatencyBound | undefined;
  #lastAutomaticMs = Number.NEGATIVE_INFINITY;
  #files = 0;

  constructor(config: RecorderConfig) {
    this.#config = config;
    this.#ring = new SpanRing(config.windowMs, config.maxBytes ?? DEFAULT_BYTES);
    this.#bound = config.p99Ms === undefined ? undefined : new LatencyBound(config.p99Ms);
  }

  onEnd(span: ExportableSpan): void {
    this.#ring.add((encoder) => encoder.add(span));
  }

  onFinished(span: FinishedSpan, origin: SpanOrigin): void {
    this.#ring.add((encoder) => encoder.addFinished(span, origin));
  }

  onRecorded(span: RecordedSpan): void {
    this.#ring.add((encoder) => encoder.addRecorded(span));
  }

  rootEnded(root: RootRecord, atMs: number): void {
    if (this.#bound?.add(atMs - root.startMs, atMs) !== true) return;
    // Once a window: the next file then holds nothing of this one.
    if (atMs - this.#lastAutomaticMs < this.#config.windowMs) return;
    this.#lastAutomaticMs = atMs;
    // The span of the request that broke the bound ends in this turn of the event loop.
    setImmediate(() => void this.dump().then(sayWritten));
  }

  /** Writes what is kept. @returns the path of the file; undefined where nothing was kept or it cannot be written. */
  async dump(): Promise<string | undefined> {
    const lines = this.#ring.take(now());
    if (lines.length === 0) return undefined;
    const name = `waitfall-recorder-${process.pid}-${Date.now()}-${++this.#files}.jsonl`;
    const path = join(this.#config.directory ?? process.cwd(), name);
    const file = new LineFile(path, 'WAITFALL_RECORDER');
    for (const chunk of lines) {
      for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
        file.append(chunk.subarray(at, at + PIECE_BYTES));
        await file.flush();
      }
    }
    await file.close();
    return file.failed ? undefined : path;
  }
}

/** Nobody else learns where the file is that they asked for by a signal. */
function sayWritten(path: string | undefined): void {
  say(
    path === undefined
      ? 'the flight recorder has kept nothing: it keeps requests that are not sampled, see OTEL_TRACES_SAMPLER'
      : `the flight recorder wrote ${path}`,
  );
}

let stop: (() => void) | undefined;

/** Starts the recorder of this process; a second call changes nothing. @returns what ends it. */
export function startRecorder(config: RecorderConfig): () => void {
  if (stop !== undefined) return stop;
  const recorder = new FlightRecorder(config);
  const onSignal = () => void recorder.dump().then(sayWritten);
  setUnsampledSink(recorder);
  setDump(() => recorder.dump());
  addTap(recorder);
  process.on(SIGNAL, onSignal);
  stop = () => {
    stop = undefined;
    setUnsampledSink(undefined);
    setDump(undefined);
    removeTap(recorder);
    process.removeListener(SIGNAL, onSignal);
  };
  return stop;
}
