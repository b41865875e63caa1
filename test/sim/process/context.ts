import type { Ledger } from '../accounting.ts';
import type { Task } from '../event-queue.ts';
import type { Random } from '../random.ts';
import type { SimOutcome, SimRequest } from '../run.ts';
import type { SimSpan } from '../spans.ts';
import type { Replica, Row, World } from './world.ts';

/** A piece of what a request does; `yield` gives way until its task is run. */
export type Program<T = void> = Generator<void, T, void>;

/** What a request, or a branch of it, carries along. */
export interface Context {
  readonly world: World;
  readonly request: SimRequest;
  readonly replica: Replica;
  readonly parent: SimSpan | null;
  readonly ledger: Ledger | null;
  readonly random: Random;
  readonly task: Task;
  readonly keys: readonly number[];
  /** Pool whose connection is held; -1 outside transactions. */
  readonly pool: number;
  /** Locks of the open transaction. */
  readonly held: HeldLock[];
  /** Tails to be woken some time after the response. */
  readonly atEnd: Task[];
}

export interface HeldLock {
  readonly row: Row;
  /** Number of the lock in the statistics. */
  readonly queue: number;
  readonly grantedNs: number;
  readonly wait: SimSpan | null;
  readonly statement: SimSpan | null;
}

/** A tail ends at least this long after its response: beyond any clock tolerance, so that it gates nobody. */
export const TAIL_MARGIN_NS = 2_000_000;

/** A response other than success, thrown by whatever refused or gave up. */
export class Failure {
  readonly outcome: SimOutcome;

  constructor(outcome: SimOutcome) {
    this.outcome = outcome;
  }
}
