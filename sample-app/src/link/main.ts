/**
 * A link of limited bandwidth in front of a TCP server: `link/main.ts HOST PORT MBIT_PER_SECOND`.
 *
 * Each connection gets the bandwidth in each direction, as a connection to another zone with a limited window
 * has it. Only the link is emulated; the bytes on it are real.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createLink } from './shaper.ts';

/** What the process tells its parent once it listens. */
export interface LinkReady {
  readonly port: number;
}

const [host, port, mbitPerSecond] = process.argv.slice(2);
const bytesPerMs = (Number(mbitPerSecond) * 1e6) / 8 / 1000;
if (!host || !Number(port) || !(bytesPerMs > 0)) {
  throw new Error('usage: link/main.ts HOST PORT MBIT_PER_SECOND');
}

const server = createLink(host, Number(port), bytesPerMs).listen(0, '127.0.0.1');
await once(server, 'listening');
const ready: LinkReady = { port: (server.address() as AddressInfo).port };
if (process.send) process.send(ready);
else console.log(`listening on 127.0.0.1:${ready.port}`);
process.on('disconnect', () => process.exit(0));
// The service closes its connections; the link ends with its parent, not with the terminal's Ctrl-C.
process.on('SIGINT', () => {});
