import type { TransactionOp } from './plan.ts';
import { TokenReader } from './token-reader.ts';
import { WORD } from './tokens.ts';

/** Reads statements that begin, end or divide a transaction. */
export class TransactionReader extends TokenReader {
  /** @returns what the text, taken as one statement, does to its transaction. */
  operation(): TransactionOp | null {
    const { text, kind } = this.tokens;
    if (kind[0] !== WORD) return null;
    switch (text[0]) {
      case 'begin':
        return { op: 'begin' };
      case 'start':
        return this.word(1, 'transaction') ? { op: 'begin' } : null;
      case 'end':
        return { op: 'commit' };
      case 'commit':
        return this.word(1, 'prepared') ? null : { op: 'commit' };
      case 'prepare':
        return this.word(1, 'transaction') ? { op: 'prepare' } : null;
      case 'savepoint':
        return { op: 'savepoint', name: text[1] ?? '' };
      case 'release':
        return { op: 'release', name: text[this.word(1, 'savepoint') ? 2 : 1] ?? '' };
      case 'rollback':
      case 'abort': {
        if (this.word(1, 'prepared')) return null;
        const to = this.find(0, this.length, 0, 'to');
        if (to < 0) return { op: 'rollback' };
        return { op: 'rollback-to', name: text[this.word(to + 1, 'savepoint') ? to + 2 : to + 1] ?? '' };
      }
      default:
        return null;
    }
  }
}
