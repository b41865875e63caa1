import type { QueueModel } from '../aggregate/queue-model.ts';
import { Blockers, longestWaits, refOf } from './blockers.ts';
import type { Facts } from './facts.ts';
import type { Statement } from './types.ts';

const EXEMPLARS = 3;

/** The longest waits on a queue in some windows, each with who held it where that is known. */
export function exemplars(
  facts: Facts,
  model: QueueModel,
  windows: readonly number[],
): NonNullable<Statement['traces']> {
  const blockers = new Blockers(facts, model);
  return longestWaits(facts, model, windows, EXEMPLARS).map((wait) => {
    const blocker = blockers.of(wait);
    return { ...refOf(facts, wait.row), ...(blocker ? { blocker } : {}) };
  });
}
