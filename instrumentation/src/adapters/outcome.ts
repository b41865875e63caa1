import type { Outcome } from '../conventions.ts';

/** How a wait ended that ended in an error. */
export interface Failure {
  readonly outcome: Exclude<Outcome, 'acquired'>;
  /** `error.type`; only for what is an error of the queue. */
  readonly errorType: string | undefined;
}

const TIMEOUT = /time[ds]?[ -]?out|ETIMEDOUT/i;
const GIVEN_UP = /abort|cancel|closed|draining|destroyed|ended|cleared/i;
/** The server went away: that is nobody's decision. */
const LOST = /ECONN|EPIPE|CONNECTION_CLOSED|CONNECTION_LOST/;

/**
 * @returns how a wait ended, from the error the library gives the waiter: its time ran out, the pool or the
 * caller gave up, or the queue refused it.
 */
export function outcomeOf(error: unknown): Failure {
  const { name, code, message } = (error ?? {}) as { name?: string; code?: unknown; message?: unknown };
  const texts = [name, code, message].filter((text) => typeof text === 'string');
  if (texts.some((text) => TIMEOUT.test(text))) return { outcome: 'timeout', errorType: 'timeout' };
  const isLost = typeof code === 'string' && LOST.test(code);
  if (!isLost && texts.some((text) => GIVEN_UP.test(text)))
    return { outcome: 'aborted', errorType: undefined };
  return { outcome: 'rejected', errorType: typeof code === 'string' ? code : (name ?? '_OTHER') };
}
