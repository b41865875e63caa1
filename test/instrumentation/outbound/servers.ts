import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the remote server saw it. */
export interface Seen {
  readonly path: string;
  readonly atMs: number;
  answeredMs: number;
  readonly headers: IncomingMessage['headers'];
}

export interface Remote {
  readonly origin: string;
  readonly port: number;
  readonly seen: Seen[];
  close(): Promise<void>;
}

/** A server that answers after `holdMs`; `/slow-body` sends its headers at once and its body after that time. */
export async function startRemote(holdMs: number): Promise<Remote> {
  const seen: Seen[] = [];
  const server: Server = createServer((request, response) => {
    const one: Seen = {
      path: request.url ?? '',
      atMs: performance.now(),
      answeredMs: Number.POSITIVE_INFINITY,
      headers: request.headers,
    };
    seen.push(one);
    if (request.url === '/slow-body') response.flushHeaders();
    setTimeout(() => {
      one.answeredMs = performance.now();
      response.end('done');
    }, holdMs);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    seen,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** When a caller made each call and had its answer, by path. */
export type Calls = ReadonlyMap<string, { calledMs: number; doneMs: number }>;

/**
 * A call in a queue of sockets gets one after the answer that made room for it was sent, and before its own
 * request is seen; it has it at least until its answer is sent, and at most until the caller has that. These
 * moments are the caller's and the remote server's: a busy machine widens the bounds and does not break them.
 */
export function checkVisit(
  seen: readonly Seen[],
  calls: Calls,
  path: string,
  sockets: number,
  visit: { waitMs: number; holdMs: number },
): void {
  const { calledMs, doneMs } = calls.get(path)!;
  const byArrival = [...seen].sort((a, b) => a.atMs - b.atMs);
  const place = byArrival.findIndex((one) => one.path === path);
  const { atMs, answeredMs } = byArrival[place];
  const answers = seen.map((one) => one.answeredMs).sort((a, b) => a - b);
  const within = (name: string, ms: number, leastMs: number, mostMs: number) =>
    assert.ok(ms >= leastMs - 1 && ms <= mostMs + 1, `${path} ${name}: ${leastMs} <= ${ms} <= ${mostMs} ms`);
  within('wait', visit.waitMs, place < sockets ? 0 : answers[place - sockets] - calledMs, atMs - calledMs);
  within('hold', visit.holdMs, answeredMs - atMs, doneMs - calledMs - visit.waitMs);
}
