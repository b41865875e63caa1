import { type EventEmitter, errorMonitor } from 'node:events';
import { Socket } from 'node:net';
import { now } from '../core/clock.ts';
import { wrapMethod } from '../core/patch.ts';
import type { ConnectParts } from './outbound-call.ts';

/** A connection that undici opens: it says when it begins, and of which socket it is when it is there. */
interface Opening extends ConnectParts {
  /** It will never be there. */
  hasFailed: boolean;
}

/** By origin, in the order in which they began. */
const byOrigin = new Map<string, Opening[]>();
const bySocket = new WeakMap<object, Opening>();
/** undici opens the next socket for this. */
let expected: Opening | undefined;

/** Finds the sockets that undici opens. One method, called once for each connection of the process. */
export function patchSockets(): void {
  wrapMethod(Socket.prototype, 'connect', (inner) => {
    return function connect(this: Socket, ...args: unknown[]) {
      const opening = expected;
      expected = undefined;
      if (opening !== undefined) watch(this, opening);
      return inner().apply(this, args);
    };
  });
}

/** A connection begins. */
export function beginConnection(origin: string): void {
  const opening: Opening = { startMs: now(), hasFailed: false };
  const list = byOrigin.get(origin);
  if (list === undefined) byOrigin.set(origin, [opening]);
  else list.push(opening);
  expected = opening;
  // Its socket is opened in the call that follows; a connector of the service's own may open none.
  queueMicrotask(() => {
    if (expected === opening) expected = undefined;
  });
}

/**
 * A connection is there, or will never be.
 *
 * @returns when its parts were done; where its socket was not seen, those of the one that began first.
 */
export function endConnection(origin: string, socket?: object): ConnectParts | undefined {
  const list = byOrigin.get(origin);
  if (list === undefined) return undefined;
  const seen = socket === undefined ? undefined : bySocket.get(socket);
  const at = list.findIndex((one) => (seen === undefined ? one.hasFailed : one === seen));
  const [opening] = list.splice(Math.max(0, at), 1);
  if (list.length === 0) byOrigin.delete(origin);
  return opening;
}

/** Only a socket that is being connected gets listeners, and they are gone when it is. */
function watch(socket: Socket & { encrypted?: boolean }, opening: Opening): void {
  bySocket.set(socket, opening);
  const encrypted = socket.encrypted === true;
  const lookedUp = () => {
    opening.lookedUpMs ??= now();
  };
  const connected = () => {
    opening.connectedMs ??= now();
    if (!encrypted) done();
  };
  const secured = () => {
    opening.securedMs = now();
    done();
  };
  const failed = () => {
    opening.hasFailed = true;
    done();
  };
  const done = () => {
    socket.removeListener('lookup', lookedUp);
    socket.removeListener('connect', connected);
    socket.removeListener('secureConnect', secured);
    socket.removeListener(errorMonitor, failed);
    socket.removeListener('close', failed);
  };
  socket.once('lookup', lookedUp);
  socket.once('connect', connected);
  if (encrypted) socket.once('secureConnect', secured);
  // Told before undici is, and no handler of the error.
  (socket as EventEmitter).once(errorMonitor, failed);
  socket.once('close', failed);
}
