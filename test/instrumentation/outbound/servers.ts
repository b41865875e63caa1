import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { assertBetween, moment } from '../support/moments.ts';

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
      atMs: moment(),
      answeredMs: Number.POSITIVE_INFINITY,
      headers: request.headers,
    };
    seen.push(one);
    if (request.url === '/slow-body') response.flushHeaders();
    setTimeout(() => {
      one.answeredMs = moment();
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

/** When a caller had its answer, and a turn of the event loop had passed, by path. */
export type Done = ReadonlyMap<string, number>;

/** A wait for a socket and what followed, as recorded. */
export interface Visit {
  readonly path: string;
  readonly gotMs: number;
  readonly holdMs: number;
}

/**
 * A call in a queue of sockets gets one after the answer that made room for it was sent, and before its own
 * request is seen; it has it at least until its answer is sent, and at most until the caller has that. These
 * moments are the caller's and the remote server's: a busy machine widens the bounds and does not break them.
 */
export function checkVisits(
  seen: readonly Seen[],
  done: Done,
  sockets: number,
  visits: readonly Visit[],
): void {
  const answers = seen.map((one) => one.answeredMs).sort((a, b) => a - b);
  for (const [place, visit] of [...visits].sort((a, b) => a.gotMs - b.gotMs).entries()) {
    const { atMs, answeredMs } = seen.find((one) => one.path === visit.path)!;
    const roomMs = place < sockets ? Number.NEGATIVE_INFINITY : answers[place - sockets];
    assertBetween(visit.gotMs, roomMs, atMs, `${visit.path} gets a socket`);
    assertBetween(
      visit.holdMs,
      answeredMs - atMs,
      done.get(visit.path)! - visit.gotMs,
      `${visit.path} holds it`,
    );
  }
}
