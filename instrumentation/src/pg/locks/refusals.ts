import type { Outcome } from '../../conventions.ts';

/**
 * Errors that end a wait for a lock: how it ended, by SQLSTATE. Lock and statement timeouts, a timeout of the
 * transaction, deadlock, serialisation, and a session that was ended.
 */
export const REFUSALS: Record<string, Outcome> = {
  '55P03': 'timeout',
  '57014': 'timeout',
  '25P04': 'timeout',
  '40P01': 'aborted',
  '40001': 'aborted',
  '57P01': 'aborted',
  '57P02': 'aborted',
};

/** @returns whether the server ended the session with this error. */
export function isFatal(severity: unknown): boolean {
  return severity === 'FATAL' || severity === 'PANIC';
}

/** @returns whether this came from the server: a result, or an error of its own and not of the client. */
export function isServers(error: unknown): boolean {
  return error === undefined || error === null || (error as { severity?: unknown }).severity !== undefined;
}
