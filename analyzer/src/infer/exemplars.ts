import type { QueueModel } from '../aggregate/queue-model.ts';
import { blockersOf, longestWaits } from './blockers.ts';
import type { Facts } from './facts.ts';
import type { Statement } from './types.ts';

const EXEMPLARS = 3;

/** The longest waits on a queue in some windows, each with who held it where that is known. */
export function exemplars(
  facts: Facts,
  model: QueueModel,
  windows: readonly number[],
): NonNullable<Statement['traces']> {
  return blockersOf(facts, model, longestWaits(facts, model, windows, EXEMPLARS)).map(({ ref, blocker }) => ({
    ...ref,
    ...(blocker ? { blocker } : {}),
  }));
}
