import type { Outcome } from '../../conventions.ts';

/** Errors that end a wait for a lock: how it ended, by SQLSTATE. */
export const REFUSALS: Record<string, Outcome> = {
  '55P03': 'timeout',
  '57014': 'timeout',
  '40P01': 'aborted',
  '40001': 'aborted',
};
