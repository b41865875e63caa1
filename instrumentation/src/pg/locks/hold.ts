import type { Context } from '@opentelemetry/api';
import type { LockMode } from '../sql/plan.ts';

/** Why a hold ended. */
export type ReleaseReason = 'commit' | 'rollback' | 'error' | 'savepoint' | 'autocommit' | 'disconnect';

/** A row lock of one transaction of this process, from its grant to its release; all times monotonic ms. */
export interface LockHold {
  readonly row: Row;
  readonly mode: LockMode;
  readonly summary: string;
  /** The connection that holds it. */
  readonly owner: object;
  /** Where its span goes: the statement's span, or the request. */
  readonly parent: Context;
  /** Its transaction is a single statement: granted and released within one reply, so nothing is known between. */
  readonly autocommit: boolean;
  readonly sentMs: number;
  /** Reply of the statement, minus the time the reply may have lain in the event loop. */
  readonly grantedMs: number;
  /** The same without the correction. */
  readonly repliedMs: number;
  /** COMMIT or ROLLBACK sent; undefined while nothing was. */
  endSentMs: number | undefined;
  /** Reply of COMMIT or ROLLBACK, corrected for the event loop. */
  releasedMs: number | undefined;
  /** The same without the correction. */
  endRepliedMs: number;
  /** Whether somebody else got the row while it was still held: then the key names no row. */
  contradicted: boolean;
  /** Whether a statement of the owner is running now. */
  isActive: () => boolean;
}

/** What has happened on one row while anybody was interested in it. */
export class Row {
  readonly relation: string;
  /** Relation and columns: what is disproved together when a key turns out to name no row. */
  readonly family: string;
  readonly key: string;
  /** The key is one id-like column. */
  readonly identifies: boolean;
  /** Holds that are open, or were open while a statement still runs that came before their release. */
  holds: LockHold[] = [];
  /** Blocking statements for this row that were sent and not answered. */
  inFlight = 0;
  /** Hash of {@link key}, once it was needed. */
  hash: string | undefined;
  /** Run when a hold is released: waits that need its end. */
  readonly onRelease: (() => void)[] = [];

  constructor(relation: string, family: string, key: string, identifies: boolean) {
    this.relation = relation;
    this.family = family;
    this.key = key;
    this.identifies = identifies;
  }

  get idle(): boolean {
    return this.inFlight === 0 && this.holds.length === 0;
  }

  /** Forgets released holds when nobody can have waited for them any more. */
  prune(): void {
    if (this.inFlight === 0) this.holds = this.holds.filter((hold) => hold.releasedMs === undefined);
    else if (this.holds.length > MAX_HISTORY) {
      const surplus = this.holds.length - MAX_HISTORY;
      this.holds = this.holds.filter((hold, at) => at >= surplus || hold.releasedMs === undefined);
    }
  }
}

/** Longest chain of holders in front of one waiter that is remembered. */
const MAX_HISTORY = 64;
