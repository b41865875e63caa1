import { type SpanContext, trace } from '@opentelemetry/api';
import { warnOnce } from '../../core/warn.ts';
import { type Activity, isHidden, spanOf, summaryOf } from './activity.ts';
import type { Holder } from './holders.ts';
import type { ActivityRow } from './lock-query.ts';
import type { ServerClock } from './server-clock.ts';
import type { Session } from './session.ts';

const MAX_KNOWN_PIDS = 1_000;
/** The server begins with a statement this much before it was seen to be sent, by its clock, or after. */
export const MAX_EARLY_MS = 20;
const MAX_LATE_MS = 1_000;

/** The connections of this process by their process on the server: who holds a lock may be one of them. */
export class Connections {
  readonly #clock: ServerClock;
  readonly #byPid = new Map<number, WeakRef<Session>>();

  constructor(clock: ServerClock) {
    this.#clock = clock;
  }

  note(session: Session, pid: number): void {
    if (session.isNoted) return;
    session.isNoted = true;
    if (this.#byPid.size >= MAX_KNOWN_PIDS) this.#forgetEnded();
    this.#byPid.set(pid, new WeakRef(session));
  }

  has(pid: number): boolean {
    return this.#byPid.get(pid)?.deref() !== undefined;
  }

  /** @returns what is known of a process that holds what others wait for, of this process or not. */
  describe(pid: number, activity: Activity): Holder {
    const row = activity.of(pid);
    const span = this.#spanOf(pid, row);
    if (row === undefined) {
      const state = pid === 0 ? 'prepared' : undefined;
      return { pid, span, statement: undefined, state, ageMs: undefined };
    }
    if (isHidden(row)) {
      warnOnce(
        'sampler-privileges',
        'a lock is held by a session of another database role: the lock sampler sees that it holds, not what it ' +
          'runs; grant pg_read_all_stats to the role of the application to see that too',
      );
    }
    return {
      pid,
      span: span ?? spanOf(row),
      statement: summaryOf(row),
      state: row.state ?? undefined,
      ageMs: row.xact_start_ms === null ? undefined : Math.max(0, row.clock_ms - row.xact_start_ms),
    };
  }

  /** @returns the span of the last statement of a connection of this process, running or not. */
  #spanOf(pid: number, row: ActivityRow | undefined): SpanContext | undefined {
    const session = this.#byPid.get(pid)?.deref();
    const last = session?.last;
    if (last === undefined || session?.pid !== pid) return undefined;
    // The server tells when the last statement began: another one than ours went past us.
    const startMs = row?.query_start_ms;
    if (startMs !== null && startMs !== undefined) {
      const lateMs = this.#clock.toMonotonicMs(startMs) - (last.sentMs ?? 0);
      if (lateMs < -MAX_EARLY_MS || lateMs > MAX_LATE_MS) return undefined;
    }
    return trace.getSpanContext(last.subject.parent);
  }

  #forgetEnded(): void {
    for (const [pid, session] of this.#byPid) if (session.deref() === undefined) this.#byPid.delete(pid);
  }
}
