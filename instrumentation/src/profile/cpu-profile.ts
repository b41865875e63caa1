import type { Profiler, Session } from 'node:inspector';
import { ATTR_CPU_FUNCTIONS } from '../conventions.ts';
import { now } from '../core/clock.ts';
import { finishKept } from '../core/emit.ts';
import type { FinishedSpan } from '../core/finished-span.ts';
import { onFlush } from '../core/shutdown.ts';
import { addTap, removeTap, type Tap } from '../core/taps.ts';
import { samplesOf, widestFunctions } from './sample-owners.ts';

const SAMPLE_EVERY_US = 1_000;
/** Work spans wait this long for their functions. */
const CHUNK_MS = 5_000;
/** Beyond this many in one chunk, spans go out without. */
const MAX_KEPT = 10_000;

/**
 * Samples the CPU and says on each `work` span which functions used its time. A span is kept until the chunk
 * of the profile that it lies in has been read.
 */
class CpuProfile implements Tap {
  readonly #session: Session;
  readonly #timer: NodeJS.Timeout;
  #kept: FinishedSpan[] = [];
  /** µs of the profiler's clock at monotonic zero. */
  #zeroUs = 0;

  constructor(session: Session) {
    this.#session = session;
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US });
    this.#begin();
    this.#timer = setInterval(() => this.turn(), CHUNK_MS).unref();
  }

  keepWork(span: FinishedSpan): boolean {
    if (this.#kept.length >= MAX_KEPT) return false;
    this.#kept.push(span);
    return true;
  }

  /** Reads the profile so far, passes the spans on, and begins the next chunk. */
  turn(): void {
    if (this.#kept.length === 0) return;
    this.#end();
    this.#begin();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#end();
    this.#session.disconnect();
  }

  #begin(): void {
    this.#session.post('Profiler.start');
    // Both clocks are the system's monotonic one, with different zeros.
    this.#zeroUs = Number(process.hrtime.bigint() / 1_000n) - now() * 1e3;
  }

  #end(): void {
    const kept = this.#kept;
    this.#kept = [];
    let profile: Profiler.Profile | undefined;
    // A session of one's own process answers within the call.
    this.#session.post('Profiler.stop', (_error, result) => {
      profile = result?.profile;
    });
    const samples = profile && samplesOf(profile);
    for (const span of kept) {
      const functions =
        samples &&
        widestFunctions(samples, this.#zeroUs + span.startMs * 1e3, this.#zeroUs + span.endMs * 1e3);
      if (functions !== undefined) span.rest = { ...span.rest, [ATTR_CPU_FUNCTIONS]: functions };
      finishKept(span);
    }
  }
}

let stop: (() => void) | undefined;

/** Starts the profile of this process; a second call changes nothing. @returns what ends it. */
export function startCpuProfile(): () => void {
  if (stop !== undefined) return stop;
  const inspector = process.getBuiltinModule('node:inspector');
  const profile = new CpuProfile(new inspector.Session());
  addTap(profile);
  onFlush(() => {
    if (stop !== undefined) profile.turn();
  });
  stop = () => {
    stop = undefined;
    removeTap(profile);
    profile.stop();
  };
  return stop;
}
