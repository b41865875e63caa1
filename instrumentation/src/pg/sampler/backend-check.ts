import { isHidden } from './activity.ts';
import { MAX_EARLY_MS } from './connections.ts';
import type { ActivityRow } from './lock-query.ts';
import type { ServerClock } from './server-clock.ts';
import type { QueuedStatement } from './session.ts';

/** So many statements in a row that the server does not know by their process: something stands between. */
const MAX_STRANGERS = 5;

/** Tells whether the processes of the server are those that this process's connections were told. */
export class BackendCheck {
  readonly #clock: ServerClock;
  readonly #turnOff: (reason: string) => void;
  #strangers = 0;
  #matched = false;

  /** @param turnOff called, with what to say, where the server's processes cannot be told. */
  constructor(clock: ServerClock, turnOff: (reason: string) => void) {
    this.#clock = clock;
    this.#turnOff = turnOff;
  }

  /** @returns whether a row is of a process that has begun a statement of ours, and is still at it. */
  isOurs(row: ActivityRow | undefined, statement: QueuedStatement): row is ActivityRow {
    if (statement.isAnswered) return false;
    if (row?.state === 'disabled') {
      this.#turnOff('the server has track_activities off: the lock sampler sees nothing and is off');
      return false;
    }
    if (row !== undefined && (row.state === 'active' || isHidden(row))) {
      this.#matched = true;
      this.#strangers = 0;
      // Still the statement before: one of a request that is not sampled, in the same client's queue.
      const startMs = row.query_start_ms === null ? undefined : this.#clock.toMonotonicMs(row.query_start_ms);
      return startMs === undefined || startMs >= (statement.sentMs ?? 0) - MAX_EARLY_MS;
    }
    // A reply on its way looks the same for a moment; a stranger does so always.
    if (!this.#matched && ++this.#strangers >= MAX_STRANGERS) {
      this.#turnOff(
        'statements of this process are not found on the server under their process ids: a pooler like pgbouncer ' +
          'stands between, and the lock sampler is off',
      );
    }
    return false;
  }
}
