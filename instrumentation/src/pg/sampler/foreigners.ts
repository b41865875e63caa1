import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { type Activity, isWaiting, spanOf } from './activity.ts';
import type { Holder } from './holders.ts';
import type { ActivityRow } from './lock-query.ts';
import { SampledStatement } from './sampled-statement.ts';
import type { Look } from './seen-wait.ts';

interface Foreigner {
  readonly queryStartMs: number | null;
  readonly statement: SampledStatement;
}

/**
 * Waiting statements of other processes that say in a comment which span they belong to. The leader records
 * their waits below that span; nobody tells it of their replies: they end when they are not seen any more.
 */
export class Foreigners {
  readonly #byPid = new Map<number, Foreigner>();

  get isEmpty(): boolean {
    return this.#byPid.size === 0;
  }

  see(
    row: ActivityRow,
    queryStartMs: number,
    look: Look,
    waitStartMs: number | undefined,
    roots: readonly number[],
    describe: (pid: number) => Holder,
  ): void {
    let foreigner = this.#byPid.get(row.pid);
    if (foreigner !== undefined && foreigner.queryStartMs !== row.query_start_ms) {
      this.#end(row.pid, look);
      foreigner = undefined;
    }
    if (!isWaiting(row)) {
      if (foreigner !== undefined && row.state === 'active') foreigner.statement.seenBusy(row, look);
      else if (foreigner !== undefined) this.#end(row.pid, look);
      return;
    }
    if (foreigner === undefined) {
      const span = spanOf(row);
      if (span === undefined) return;
      const parent = trace.setSpanContext(ROOT_CONTEXT, span);
      const statement = new SampledStatement({ parent, relation: undefined, uncontendedMs: 0 });
      statement.sentMs = queryStartMs;
      foreigner = { queryStartMs: row.query_start_ms, statement };
      this.#byPid.set(row.pid, foreigner);
    }
    foreigner.statement.seenWaiting(row, look, waitStartMs, roots, describe);
  }

  /** Those that a look did not find waiting have got what they waited for. */
  leave(activity: Activity, look: Look): void {
    for (const pid of [...this.#byPid.keys()]) if (activity.of(pid) === undefined) this.#end(pid, look);
  }

  close(atMs: number): void {
    for (const pid of [...this.#byPid.keys()]) this.#end(pid, { sentMs: atMs, repliedMs: atMs });
  }

  #end(pid: number, look: Look): void {
    const statement = this.#byPid.get(pid)?.statement;
    this.#byPid.delete(pid);
    statement?.seenOver(look);
    statement?.replied(look.repliedMs);
    statement?.finish();
  }
}
