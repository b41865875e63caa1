import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the remote server saw it. */
export interface Seen {
  readonly path: string;
  readonly atMs: number;
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
    seen.push({ path: request.url ?? '', atMs: performance.now(), headers: request.headers });
    if (request.url === '/slow-body') response.flushHeaders();
    setTimeout(() => response.end('done'), holdMs);
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
