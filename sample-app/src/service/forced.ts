import { pbkdf2 } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { Agent, get } from 'node:http';
import { promisify } from 'node:util';
import { segment } from '@waitfall/instrumentation';

/** What each sign-up does besides, so that one resource is the first to fill up; all of it absent in the variants. */
export interface ForcedWork {
  /** Work before the database is asked, ms. */
  readonly burnMs?: number;
  /** Objects that live for some requests, KiB: what the garbage collector has to move. */
  readonly garbageKiB?: number;
  /** Rounds of a key derivation on a thread of libuv. */
  readonly hashRounds?: number;
  /** A call to another service. */
  readonly call?: ForcedCall;
  /** Time a statement takes on the connection before any row is locked, ms. */
  readonly statementMs?: number;
  /** Time a statement takes while the campaign's row is locked, ms. */
  readonly lockedMs?: number;
  /** A connection is closed after so many requests. */
  readonly connectionUses?: number;
}

export interface ForcedCall {
  readonly url: string;
  readonly via: 'http' | 'undici';
  /** Sockets to that service; absent: any number. */
  readonly sockets?: number;
  /** `host:port` of the server that is asked for its name; then each call opens a connection of its own. */
  readonly nameServer?: string;
}

const derive = promisify(pbkdf2);
/** Sign-ups whose objects are alive at the same time. */
const ALIVE = 24;

/** @returns what a sign-up does before it takes a connection. */
export async function forcedWork(forced: ForcedWork): Promise<() => Promise<void>> {
  const { burnMs, garbageKiB, hashRounds } = forced;
  const call = forced.call && (await caller(forced.call));
  const alive: object[][] = [];
  return async () => {
    if (burnMs !== undefined) segment('work', () => burn(burnMs), 'burn');
    if (garbageKiB !== undefined) segment('work', () => litter(alive, garbageKiB), 'litter');
    if (hashRounds !== undefined) await derive('secret', 'salt', hashRounds, 32, 'sha512');
    if (call !== undefined) await call();
  };
}

/** Elapsed time, so that it is the same on a machine whose cores are wanted by others. */
function burn(ms: number): number {
  const until = performance.now() + ms;
  let sum = 0;
  while (performance.now() < until) for (let i = 0; i < 10_000; i++) sum += Math.sqrt(i);
  return sum;
}

function litter(alive: object[][], kiB: number): void {
  // An entry with its text is about 100 bytes.
  alive.push(Array.from({ length: kiB * 10 }, (_, i) => ({ i, text: `entry ${i}` })));
  if (alive.length > ALIVE) alive.shift();
}

async function caller({ url, via, sockets, nameServer }: ForcedCall): Promise<() => Promise<void>> {
  if (via === 'undici') {
    const { Agent: Dispatcher, request } = await import('undici');
    const dispatcher = new Dispatcher(sockets === undefined ? {} : { connections: sockets });
    return async () => {
      const { body } = await request(url, { dispatcher });
      await body.text();
    };
  }
  const agent = new Agent({
    keepAlive: nameServer === undefined,
    ...(sockets === undefined ? {} : { maxSockets: sockets }),
    ...(nameServer === undefined ? {} : { lookup: lookupAt(nameServer) }),
  });
  return () =>
    new Promise((resolve, reject) => {
      get(url, { agent }, (response) => response.resume().once('end', resolve)).once('error', reject);
    });
}

/**
 * A lookup that asks one name server and waits for as long as it takes. The resolver of Node gives up after some times
 * what answers took before, so that a name server with a backlog answers nobody.
 * https://www.rfc-editor.org/rfc/rfc1035#section-4
 */
function lookupAt(nameServer: string): NonNullable<ConstructorParameters<typeof Agent>[0]>['lookup'] {
  const [host, port] = nameServer.split(':');
  const open = new Map<number, (address: string) => void>();
  const socket = createSocket('udp4').unref();
  socket.on('message', (answer) => {
    // One record, its address last.
    open.get(answer.readUInt16BE(0))?.([...answer.subarray(-4)].join('.'));
  });
  let id = 0;
  return (hostname, { all }, done) => {
    id = (id + 1) & 0xffff;
    const asked = id;
    open.set(asked, (address) => {
      open.delete(asked);
      if (all) done(null, [{ address, family: 4 }]);
      else done(null, address, 4);
    });
    socket.send(questionFor(asked, hostname), Number(port), host);
  };
}

/** For the address of a name; recursion desired. */
function questionFor(id: number, hostname: string): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(0x0100, 2);
  header.writeUInt16BE(1, 4);
  const labels = hostname
    .split('.')
    .map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`));
  return Buffer.concat([header, ...labels, Buffer.from([0, 0, 1, 0, 1])]);
}
