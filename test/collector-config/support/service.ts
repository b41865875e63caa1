// A small service for the tests: answers every request after a few milliseconds, ends in order on SIGTERM.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((_request, response) => {
  setTimeout(() => response.end('ok'), 5);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.once('SIGTERM', () => {
  server.close();
  server.closeIdleConnections();
});
