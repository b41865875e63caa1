import type { Context } from '@opentelemetry/api';
import type { Outcome } from '../../conventions.ts';
import { isExclusive } from '../sql/plan.ts';
import type { Claim } from './claim.ts';
import { emitLock } from './emit-lock.ts';
import { grantOf } from './grant.ts';
import type { OpenHold } from './held-locks.ts';
import { type Attempt, type InferredWait, inferWait, undecidedRow } from './infer-wait.ts';
import type { LockHold } from './row.ts';
import type { DatabaseRows } from './rows.ts';

/** Where the spans of a statement's locks go. */
export interface Place {
  readonly parent: Context;
  readonly hasStatementSpan: boolean;
}

/** Writes a lock that was held, with the wait for it; once what it depends on is known. */
export function recordHold(rows: DatabaseRows, entry: OpenHold): void {
  const { hold, claim, attempt } = entry;
  if (attempt === undefined) return;
  entry.attempt = undefined;
  whenDecided(attempt, () => {
    if (hold.contradicted) return;
    const wait = inferWait(attempt) ?? attempt.seen ?? null;
    const isOneRow = isExclusive(hold.mode) && !entry.several;
    if (wait === null && !isOneRow) return;
    const countsAsHold = isOneRow && !hold.autocommit;
    const grant = countsAsHold
      ? grantOf(attempt, wait, entry.idleMs)
      : { atMs: hold.grantedMs, assumed: false };
    emitLock({
      rows,
      row: hold.row,
      parent: hold.parent,
      hasStatementSpan: hold.hasStatementSpan,
      wait,
      grantedMs: grant.atMs,
      outcome: 'acquired',
      errorType: undefined,
      inUse: claim.inUse,
      queueDepth: claim.queueDepth,
      blocker: claim.blocker,
      holdMs: countsAsHold ? Math.max(0, releaseSeenByNext(hold) - grant.atMs) : undefined,
      guessed: claim.lock.guessed === true,
      assumed: grant.assumed,
      autocommit: hold.autocommit,
    });
  });
}

/** Writes the wait of a statement that took nothing, if it did wait; once that is known. */
export function recordWait(
  rows: DatabaseRows,
  place: Place,
  claim: Claim,
  attempt: Attempt,
  outcome: Outcome,
  errorType: string | undefined,
): void {
  if (attempt.inTheWay.length === 0) return;
  whenDecided(attempt, () => {
    const wait = inferWait(attempt);
    if (wait !== null) recordRefusal(rows, place, claim, wait, attempt.answeredMs, outcome, errorType);
  });
}

/** Writes that a statement did not get its row. @param wait null where it did not wait for it. */
export function recordRefusal(
  rows: DatabaseRows,
  place: Place,
  claim: Claim,
  wait: InferredWait | null,
  atMs: number,
  outcome: Outcome,
  errorType: string | undefined,
): void {
  emitLock({
    rows,
    row: claim.row,
    parent: place.parent,
    hasStatementSpan: place.hasStatementSpan,
    wait,
    grantedMs: atMs,
    outcome,
    errorType,
    inUse: claim.inUse,
    queueDepth: claim.queueDepth,
    blocker: claim.blocker,
    holdMs: undefined,
    guessed: claim.lock.guessed === true,
    assumed: false,
    autocommit: false,
  });
}

function whenDecided(attempt: Attempt, then: () => void): void {
  const row = undecidedRow(attempt);
  if (row === undefined) then();
  else row.onRelease.push(() => whenDecided(attempt, then));
}

/** A hold ends at the reply of its COMMIT, or at the next grant where that reply was processed first. */
function releaseSeenByNext(hold: LockHold): number {
  let releasedMs = hold.releasedMs ?? hold.grantedMs;
  for (const next of hold.row.holds) {
    if (next === hold || next.grantedMs <= hold.grantedMs || next.owner === hold.owner) continue;
    if (isExclusive(next.mode))
      releasedMs = Math.min(releasedMs, Math.max(next.grantedMs, hold.endSentMs ?? 0));
  }
  return releasedMs;
}
