import type { TransactionOp } from '../sql/plan.ts';
import type { TransactionStatus } from '../types.ts';
import { Savepoints } from './savepoints.ts';

/** Where a connection stands in its transaction, as far as its statements and their replies tell. */
export class Transaction {
  isOpen = false;
  readonly #savepoints = new Savepoints();

  /** A statement has succeeded. @returns how many of the `held` locks the transaction keeps after it. */
  succeeded(op: TransactionOp | null, held: number): number {
    switch (op?.op) {
      case 'begin':
        this.isOpen = true;
        return held;
      case 'savepoint':
        this.#savepoints.set(op.name, held);
        return held;
      case 'release':
        this.#savepoints.release(op.name);
        return held;
      case 'rollback-to':
        return this.#savepoints.rollbackTo(op.name) ?? held;
      case 'commit':
      case 'rollback':
        this.end();
        return 0;
      default:
        return held;
    }
  }

  /** @returns how many of the `held` locks the transaction keeps if a statement that goes out now succeeds. */
  keptBy(op: TransactionOp | null, held: number): number {
    if (op?.op === 'commit' || op?.op === 'rollback') return 0;
    return op?.op === 'rollback-to' ? (this.#savepoints.heldAt(op.name) ?? held) : held;
  }

  /** What the server says of it after a statement, where the library passes that on. */
  observe(status: TransactionStatus | undefined): void {
    if (status === 'T' || status === 'E') this.isOpen = true;
    else if (status === 'I') this.isOpen = false;
  }

  /**
   * A statement has failed: the transaction is aborted, or what came after its last savepoint.
   *
   * @returns how many locks it keeps.
   */
  failed(held: number): number {
    return this.isOpen ? this.#savepoints.keptOnError : held;
  }

  end(): void {
    this.isOpen = false;
    this.#savepoints.clear();
  }
}
