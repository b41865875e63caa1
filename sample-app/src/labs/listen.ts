import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a small service tells its parent once it listens. */
export interface Ready {
  readonly port: number;
}

/** Lets a server listen on a free port of the loopback interface, and end with its parent or on SIGTERM. */
export function listenForParent(server: Server): void {
  server.keepAliveTimeout = 60_000;
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
    const ready: Ready = { port: (server.address() as AddressInfo).port };
    process.send?.(ready);
  });
  const end = () => {
    server.close(() => process.disconnect?.());
    server.closeIdleConnections();
    // Requests that are still open after this are given up.
    setTimeout(() => process.exit(0), 2_000).unref();
  };
  process.on('SIGTERM', end);
  // Ctrl-C reaches the parent too, which says when to end.
  process.on('SIGINT', () => {});
  process.on('disconnect', () => {
    if (server.listening) process.exit(0);
  });
}
