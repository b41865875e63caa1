import type { IncomingHttpHeaders } from 'node:http';

/** A request that waited longer than this in front of the service comes from a wrong clock, or from nobody honest. */
const MAX_WAIT_MS = 60_000;
/** `t=` is optional; nginx writes seconds with milliseconds, others whole milli-, micro- or nanoseconds. */
const PATTERN = /^(?:t=)?(\d{10}(?:\.\d{1,9})?|\d{13}(?:\.\d{1,6})?|\d{16}|\d{19})$/;

let trusted = false;

/** Whether `X-Request-Start` and `X-Queue-Start` are believed. Anybody can send them: only behind a proxy that sets them. */
export function trustQueueHeader(on: boolean): void {
  trusted = on;
}

/**
 * @param nowMs the wall clock, epoch ms; the present time by default.
 * @returns how long the request says it has been on its way since a proxy took it, ms; undefined where it says
 * nothing, nothing plausible, or is not to be believed.
 */
export function queuedMs(headers: IncomingHttpHeaders, nowMs?: number): number | undefined {
  if (!trusted) return undefined;
  const header = headers['x-request-start'] ?? headers['x-queue-start'];
  const sinceMs = header === undefined ? undefined : epochMsOf(String(header));
  if (sinceMs === undefined) return undefined;
  const waitedMs = (nowMs ?? Date.now()) - sinceMs;
  return waitedMs > 0 && waitedMs <= MAX_WAIT_MS ? waitedMs : undefined;
}

/** @returns the time of a header, its unit told from its magnitude; undefined for anything else. */
export function epochMsOf(text: string): number | undefined {
  // Each proxy on the way may have added one: the first was first.
  const match = PATTERN.exec(text.split(',', 1)[0].trim());
  if (match === null) return undefined;
  const digits = match[1].split('.', 1)[0].length;
  return Number(match[1]) / 1e3 ** ((digits - 13) / 3);
}
