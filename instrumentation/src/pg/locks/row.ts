import type { Context } from '@opentelemetry/api';
import type { LockMode } from '../sql/plan.ts';

/** A row lock of one transaction of this process, from its grant to its release; all times monotonic ms. */
export interface LockHold {
  readonly row: Row;
  readonly mode: LockMode;
  readonly summary: string;
  /** The connection that holds it. */
  readonly owner: LockOwner;
  /** Where its span goes: the statement's span, or the request. */
  readonly parent: Context;
  /** {@link parent} is a statement's own span: nothing else is below it. */
  readonly hasStatementSpan: boolean;
  /** Its transaction is a single statement, or was sent in one go: granted and released with no reply between. */
  readonly autocommit: boolean;
  readonly sentMs: number;
  /** Reply of the statement, minus the time the reply may have lain in the event loop. */
  readonly grantedMs: number;
  /** COMMIT or ROLLBACK sent; undefined while nothing was. */
  endSentMs: number | undefined;
  /** Reply of COMMIT or ROLLBACK, corrected for the event loop. */
  releasedMs: number | undefined;
  /** The same without the correction. */
  endRepliedMs: number;
  /** Somebody else got the row while it was still held: then its key names no row. */
  contradicted: boolean;
}

export interface LockOwner {
  /** A statement of this connection is running now. */
  readonly isActive: boolean;
}

/** Longest chain of holders in front of one waiter that is remembered. */
const MAX_HISTORY = 64;

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
  /** Waits that need the end of a hold; each runs once, at the next release. */
  onRelease: (() => void)[] = [];

  constructor(relation: string, family: string, key: string, identifies: boolean) {
    this.relation = relation;
    this.family = family;
    this.key = key;
    this.identifies = identifies;
  }

  get isIdle(): boolean {
    return this.inFlight === 0 && this.holds.length === 0;
  }

  /** Forgets released holds when nobody can have waited for them any more. */
  prune(): void {
    const surplus = this.inFlight === 0 ? this.holds.length : this.holds.length - MAX_HISTORY;
    if (surplus > 0)
      this.holds = this.holds.filter((hold, at) => at >= surplus || hold.releasedMs === undefined);
  }

  /** Lets deferred waits look again, after a hold has ended. */
  released(): void {
    const waiting = this.onRelease;
    if (waiting.length === 0) return;
    this.onRelease = [];
    for (const look of waiting) look();
  }
}
