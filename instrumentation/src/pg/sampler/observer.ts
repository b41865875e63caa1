import type { Context } from '@opentelemetry/api';
import type { InferredWait } from '../locks/infer-wait.ts';
import type { CachedPlan } from '../sql/plan-cache.ts';
import type { PgClient } from '../types.ts';

/** A statement that went to a server, as the observer is told of it. */
export interface SentStatement {
  readonly client: PgClient;
  /** When the service called the client, monotonic ms. */
  readonly callMs: number;
  readonly plan: CachedPlan;
  /** The statement's span, or what it is part of. */
  readonly parent: Context;
  /** Nothing is recorded of others; but their connection does something else now. */
  readonly isSampled: boolean;
}

/** What somebody outside saw of one running statement. */
export interface ObservedStatement {
  /** It was seen waiting for a lock. */
  readonly sawWait: boolean;
  /** Holders of this process stood in the way: that wait is known better than it can be seen. */
  explain(relation: string): void;
  /** @returns the wait that was seen, to be written together with the hold of a row; once. */
  take(relation: string): InferredWait | null;
  /** What it did on the server when it was looked at, for its span; undefined where nobody looked. */
  readonly waitEvents: readonly string[] | undefined;
  /** The reply is here, or an error. @param answeredMs without the time it may have lain in the event loop. */
  replied(answeredMs: number, error?: unknown): void;
  /** The reply has been worked in: what nobody took becomes a span. */
  finish(): void;
}

/** Looks at statements while they run. */
export interface StatementObserver {
  sent(statement: SentStatement): ObservedStatement | undefined;
  /** A lock wait was recorded without looking; the same one may have been seen. */
  recorded(parent: Context, wait: InferredWait): void;
}

/** Nobody by default: then a statement costs one comparison more. */
export let observer: StatementObserver | undefined;

export function setStatementObserver(next: StatementObserver | undefined): void {
  observer = next;
}
