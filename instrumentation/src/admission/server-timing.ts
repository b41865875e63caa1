import type { ServerResponse } from 'node:http';
import { now } from '../core/clock.ts';

/**
 * Adds `Server-Timing: queue;dur=…, work;dur=…` (ms) when the headers are written: before that the work is
 * not known. Values the application set stay.
 */
export function addServerTiming(res: ServerResponse, enqueuedMs: number, grantedMs: number): void {
  const writeHead = res.writeHead;
  const own = Object.hasOwn(res, 'writeHead');
  res.writeHead = function (this: ServerResponse, ...args: unknown[]): ServerResponse {
    if (own) res.writeHead = writeHead;
    else delete (res as Partial<ServerResponse>).writeHead;
    if (!res.headersSent) {
      const queueMs = (grantedMs - enqueuedMs).toFixed(1);
      const workMs = (now() - grantedMs).toFixed(1);
      res.appendHeader('Server-Timing', `queue;dur=${queueMs}, work;dur=${workMs}`);
    }
    return (writeHead as (...all: unknown[]) => ServerResponse).apply(this, args);
  } as ServerResponse['writeHead'];
}
