import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';

/** Something the service depends on, built to be as slow as the configuration wants it. */
export interface Remote {
  readonly address: string;
  close(): Promise<void>;
}

/** Does one thing after the other, `width` at a time, each for `ms`. */
class Server {
  readonly #ms: number;
  readonly #width: number;
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(ms: number, width: number) {
    this.#ms = ms;
    this.#width = width;
  }

  serve(done: () => void): void {
    if (this.#busy === this.#width) {
      this.#waiting.push(() => this.serve(done));
      return;
    }
    this.#busy++;
    setTimeout(() => {
      this.#busy--;
      done();
      this.#waiting.shift()?.();
    }, this.#ms);
  }
}

/** An HTTP service that takes `ms` for each request and has `width` workers. */
export async function slowService(ms: number, width = Number.POSITIVE_INFINITY): Promise<Remote> {
  const worker = new Server(ms, width);
  const server = createServer((_request, response) => worker.serve(() => response.end('ok')));
  server.keepAliveTimeout = 60_000;
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A name server that knows one answer, 127.0.0.1, and takes `ms` for it, one question at a time. */
export async function slowNameServer(ms: number): Promise<Remote> {
  const worker = new Server(ms, 1);
  let open = true;
  const socket = createSocket('udp4');
  socket.on('message', (question, { address, port }) => {
    worker.serve(() => {
      if (open) socket.send(answerTo(question), port, address);
    });
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    async close() {
      open = false;
      socket.close();
    },
  };
}

/** https://www.rfc-editor.org/rfc/rfc1035#section-4: the question again, and one A record that is valid for no time. */
function answerTo(question: Buffer): Buffer {
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(1, 6);
  header.writeUInt32BE(0, 8);
  const end = question.indexOf(0, 12) + 5;
  const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
  return Buffer.concat([header, question.subarray(12, end), record]);
}

/** A door to a server that lets one new connection in every `ms`; what is inside is not slowed down. */
export async function slowDoor(host: string, port: number, ms: number): Promise<Remote> {
  const door = new Server(ms, 1);
  const open = new Set<Socket>();
  const server = createTcpServer({ pauseOnConnect: true }, (near) => {
    near.setNoDelay(true);
    near.on('error', () => near.destroy());
    open.add(near);
    near.on('close', () => open.delete(near));
    door.serve(() => {
      const far = connect(port, host);
      far.setNoDelay(true);
      far.on('error', () => near.destroy());
      far.on('close', () => near.destroy());
      near.on('close', () => far.destroy());
      near.pipe(far).pipe(near);
      near.resume();
    });
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}
