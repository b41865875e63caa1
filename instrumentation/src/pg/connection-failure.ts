import type { Outcome } from '../conventions.ts';

/** @returns how the wait for a connection or a slot ended by this error. */
export function connectionFailure(error: Error): { outcome: Outcome; errorType: string } {
  const timeout = /timeout/i.test(error.message);
  return {
    outcome: timeout ? 'timeout' : 'rejected',
    errorType: timeout ? 'timeout' : ((error as NodeJS.ErrnoException).code ?? error.name),
  };
}
