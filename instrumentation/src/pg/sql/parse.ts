import { AdvisoryReader } from './advisory-reader.ts';
import { InsertReader } from './insert-reader.ts';
import { EMPTY_PLAN, type LockClause, type StatementPlan, type Unlock } from './plan.ts';
import { RowLockReader } from './row-lock-reader.ts';
import { NUMBER, PARAMETER, STRING, SYMBOL, type Tokens, tokenize, WORD } from './tokens.ts';
import { TransactionReader } from './transaction-reader.ts';

/** Longer texts are generated in bulk; their rows are not one lock. */
const MAX_TEXT = 20_000;
/** Texts without any of these words neither lock rows nor control a transaction. */
const PREFILTER =
  /\b(?:update|delete|insert|share|begin|start|commit|end|rollback|abort|savepoint|release|prepare|discard|pg_advisory\w*)\b/i;

/**
 * Reads which row locks a text takes and by which key. It knows the shapes that people and query builders
 * write, not all of SQL; what it does not understand has no key, and then nothing is claimed about it.
 */
export function parsePlan(sql: string): StatementPlan {
  if (sql.length > MAX_TEXT || !PREFILTER.test(sql)) return EMPTY_PLAN;
  try {
    return planOf(tokenize(sql));
  } catch {
    return EMPTY_PLAN;
  }
}

function planOf(tokens: Tokens): StatementPlan {
  const rows = new RowLockReader(tokens);
  const inserts = new InsertReader(tokens);
  const advisory = new AdvisoryReader(tokens);
  const locks: LockClause[] = [];
  const guessed: LockClause[] = [];
  const unlocks: Unlock[] = [];
  const { length } = tokens.kind;
  let statements = length > 0 ? 1 : 0;
  for (let at = 0; at < length; at++) {
    if (tokens.text[at] === ';' && tokens.kind[at] === SYMBOL && at < length - 1) statements++;
    if (tokens.kind[at] !== WORD) continue;
    if (tokens.text[at] === 'insert') {
      const inserted = inserts.lockAt(at);
      if (inserted !== null) locks.push(inserted);
      guessed.push(...inserts.parentsAt(at));
      continue;
    }
    const lock = rows.lockAt(at) ?? advisory.lockAt(at);
    if (lock !== null) locks.push(lock);
    const unlock = advisory.unlockAt(at);
    if (unlock !== null) unlocks.push(unlock);
  }
  locks.push(...guessed);
  const transaction = statements === 1 ? new TransactionReader(tokens).operation() : null;
  return locks.length === 0 && transaction === null && statements === 1 && unlocks.length === 0
    ? EMPTY_PLAN
    : { locks, transaction, statements, unlocks, shape: locks.length > 0 ? shapeOf(tokens) : undefined };
}

/** Lists of values of any length have one shape. */
function shapeOf({ kind, text }: Tokens): string {
  let shape = '';
  let last = '';
  for (let at = 0; at < kind.length; at++) {
    const token = kind[at] === NUMBER || kind[at] === STRING || kind[at] === PARAMETER ? '?' : text[at];
    if (token === '?' && last === ',') shape = shape.endsWith('? ,') ? shape.slice(0, -2) : `${shape} ?`;
    else shape += ` ${token}`;
    last = token;
  }
  return shape;
}
