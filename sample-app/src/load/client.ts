import { Pool } from 'undici';
import { UNRECORDED } from '../run/unrecorded.ts';
import type { Connect } from './manifest.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import type { PreparedRequest } from './requests.ts';

/** What came back for one request. */
export interface Answer {
  readonly outcome: Outcome;
  readonly status: number | null;
  /** Waiting and working time that the service states in `Server-Timing` (`queue`, `work`), ms. */
  readonly serverQueueMs: number | null;
  readonly serverWorkMs: number | null;
}

/** Sends requests to one service over as many connections as there are requests open. */
export class HttpClient {
  readonly #pool: Pool;
  readonly #timeoutMs: number;
  readonly #open = new Set<AbortController>();
  #cancelled = false;

  constructor(target: URL, maxInFlight: number, timeoutMs: number) {
    // undici's own timeouts have a resolution of half a second; ours is the timer below.
    this.#pool = new Pool(target.origin, {
      connections: Math.max(1, maxInFlight),
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#timeoutMs = timeoutMs;
  }

  /** Sends one request and reads the whole answer; never throws. */
  async send(request: PreparedRequest, traceparent: string): Promise<Answer> {
    const abort = new AbortController();
    this.#open.add(abort);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      abort.abort();
    }, this.#timeoutMs);
    const headers: Record<string, string> = { ...request.class.headers, traceparent };
    if (request.body !== undefined) headers['content-type'] ??= 'application/json';
    try {
      const response = await this.#pool.request({
        method: request.class.method as 'GET',
        path: request.path,
        headers,
        signal: abort.signal,
        ...(request.body === undefined ? {} : { body: request.body }),
      });
      const body = await response.body.text();
      const contentType = String(response.headers['content-type'] ?? '');
      const timing = String(response.headers['server-timing'] ?? '');
      return {
        outcome: outcomeOf(request.class, response.statusCode, contentType, body),
        status: response.statusCode,
        serverQueueMs: timingMs(timing, 'queue'),
        serverWorkMs: timingMs(timing, 'work'),
      };
    } catch {
      const outcome = timedOut ? 'timedOut' : this.#cancelled ? 'cancelled' : 'transportFailed';
      return { outcome, status: null, serverQueueMs: null, serverWorkMs: null };
    } finally {
      clearTimeout(timer);
      this.#open.delete(abort);
    }
  }

  /** Opens `count` connections by as many requests for `path` at once; one that is not answered in time is left out. */
  async connect({ count, path }: Connect): Promise<void> {
    const abort = new AbortController();
    this.#open.add(abort);
    const timer = setTimeout(() => abort.abort(), this.#timeoutMs);
    const ask = async () => {
      const response = await this.#pool.request({
        method: 'GET',
        path,
        headers: { traceparent: UNRECORDED },
        signal: abort.signal,
      });
      await response.body.dump();
    };
    await Promise.allSettled(Array.from({ length: count }, ask));
    clearTimeout(timer);
    this.#open.delete(abort);
  }

  /** Gives up all open requests. */
  cancel(): void {
    this.#cancelled = true;
    for (const abort of this.#open) abort.abort();
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/** @returns `dur` of one entry of a Server-Timing header, ms; null where it is not there. */
export function timingMs(header: string, name: string): number | null {
  for (const entry of header.split(',')) {
    const [label, ...parameters] = entry.split(';').map((part) => part.trim());
    if (label !== name) continue;
    const duration = parameters.find((parameter) => parameter.startsWith('dur='));
    if (duration) return Number(duration.slice(4));
  }
  return null;
}
