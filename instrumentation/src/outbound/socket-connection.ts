import type { Socket } from 'node:net';
import { now } from '../core/clock.ts';
import type { ConnectParts, OutboundCall } from './outbound-call.ts';

interface TlsSocket extends Socket {
  encrypted?: boolean;
  secureConnecting?: boolean;
}

/**
 * Records how long a call waits for the socket it was given to be connected. Only a socket that is not yet
 * gets listeners, and they are gone when it is; Node itself waits for it in the same way.
 */
export function watchConnection(call: OutboundCall, socket: TlsSocket, resource: string, atMs: number): void {
  const encrypted = socket.encrypted === true;
  if (!socket.connecting && !(encrypted && socket.secureConnecting === true)) return;
  const parts: ConnectParts = { startMs: atMs };
  const lookedUp = () => {
    parts.lookedUpMs ??= now();
  };
  const connected = () => {
    parts.connectedMs ??= now();
    if (!encrypted) done('acquired');
  };
  const secured = () => {
    parts.securedMs = now();
    done('acquired');
  };
  const closed = () => {
    done(call.timedOut ? 'timeout' : call.abortedMs !== undefined ? 'aborted' : 'rejected');
  };
  const done = (outcome: Parameters<OutboundCall['connected']>[3]) => {
    socket.removeListener('lookup', lookedUp);
    socket.removeListener('connect', connected);
    socket.removeListener('secureConnect', secured);
    socket.removeListener('close', closed);
    call.connected(resource, parts, now(), outcome);
  };
  socket.once('lookup', lookedUp);
  socket.prependOnceListener('connect', connected);
  if (encrypted) socket.prependOnceListener('secureConnect', secured);
  socket.prependOnceListener('close', closed);
}
