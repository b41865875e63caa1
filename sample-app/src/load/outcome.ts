import type { RequestClass } from './manifest.ts';

/** How a started request ended, seen by the client. */
export const OUTCOMES = [
  /** An answer as it should be. */
  'succeeded',
  /** Turned away by the service. */
  'rejected',
  /** The client gave up waiting; the time is "at least". */
  'timedOut',
  /** No answer: refused, reset, broken. */
  'transportFailed',
  /** An answer that is neither: another status, or a body that is no JSON where JSON was announced. */
  'invalid',
  /** The load was interrupted while the request was open. */
  'cancelled',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

const REJECTED = [429, 503];

/** @returns the outcome of an answer with this status, content type and body. */
export function outcomeOf(request: RequestClass, status: number, contentType: string, body: string): Outcome {
  if ((request.rejected ?? REJECTED).includes(status)) return 'rejected';
  const expected = request.success ? request.success.includes(status) : status >= 200 && status < 300;
  if (!expected) return 'invalid';
  return contentType.startsWith('application/json') && !isJson(body) ? 'invalid' : 'succeeded';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
