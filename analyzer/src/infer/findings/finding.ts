import type { Facts, Inference } from '../facts.ts';
import type { Statement } from '../types.ts';

/** One kind of finding: what to look for, one sentence about each thing found, a fragment after a count. */
export interface Finding<T> {
  readonly id: string;
  /** @returns what was found; empty when all is well. */
  check(facts: Facts, inference: Inference): readonly T[];
  /** One full sentence about one thing. */
  format(found: T): string;
  /** Completes "3 …". */
  summary(count: number): string;
  resource?(found: T): string;
  values?(found: T): Statement['values'];
}

/** Lists of one kind longer than this are cut, with a count. */
const LISTED = 3;

export function statementsOf<T>(finding: Finding<T>, facts: Facts, inference: Inference): Statement[] {
  const found = finding.check(facts, inference);
  const listed = found.slice(0, LISTED).map(
    (one): Statement => ({
      id: finding.id,
      text: finding.format(one),
      ...(finding.resource ? { resource: finding.resource(one) } : {}),
      ...(finding.values ? { values: finding.values(one) } : {}),
    }),
  );
  if (found.length > LISTED) {
    const rest = found.length - LISTED;
    listed.push({ id: finding.id, text: `${rest} more ${finding.summary(rest)}` });
  }
  return listed;
}
