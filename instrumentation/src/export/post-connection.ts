import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { now } from '../core/clock.ts';
import { ResponseReader } from './http-response.ts';

/** A connection that its server is about to close is not used any more, ms. */
const MARGIN_MS = 1_000;

interface Pending {
  readonly reader: ResponseReader;
  readonly timeoutMs: number;
  readonly resolve: (answer: ResponseReader) => void;
  readonly reject: (error: Error) => void;
}

/**
 * One HTTP/1.1 connection, for one POST after the other. Not Node's client: it shares its code with the server, and
 * V8 compiles that for the objects it has seen: a client that posts a few times a second makes every request that the
 * service answers some µs slower.
 */
export class PostConnection {
  readonly #socket: Socket;
  #pending: Pending | undefined;
  /** Until when the server keeps it open without requests, as far as it has said. */
  #usableUntilMs = Number.POSITIVE_INFINITY;

  constructor(url: URL) {
    this.#socket = open(url)
      .setNoDelay(true)
      .on('data', (bytes: Buffer) => this.#read(bytes))
      .on('timeout', () => this.#socket.destroy(new Error(`no answer within ${this.#pending?.timeoutMs} ms`)))
      .on('error', (error) => this.#fail(error))
      .on('close', () => this.#closed());
  }

  /** Whether {@link post} can be called now. */
  get isFree(): boolean {
    return this.#pending === undefined && this.#socket.writable && now() < this.#usableUntilMs;
  }

  get isBusy(): boolean {
    return this.#pending !== undefined;
  }

  close(): void {
    this.#socket.destroy();
  }

  /**
   * @param head everything up to the blank line, and that.
   * @param timeoutMs so long nothing may happen.
   * @returns the answer once it is complete.
   */
  post(head: string, body: readonly Buffer[], timeoutMs: number): Promise<ResponseReader> {
    const socket = this.#socket;
    return new Promise((resolve, reject) => {
      this.#pending = { reader: new ResponseReader(), timeoutMs, resolve, reject };
      socket.ref();
      socket.setTimeout(timeoutMs);
      socket.cork();
      socket.write(head, 'latin1');
      for (const part of body) socket.write(part);
      socket.uncork();
    });
  }

  #read(bytes: Buffer): void {
    const pending = this.#pending;
    // Nobody has asked.
    if (pending === undefined) {
      this.close();
      return;
    }
    try {
      if (pending.reader.read(bytes)) this.#done(pending);
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
  }

  #done({ reader, resolve }: Pending): void {
    this.#pending = undefined;
    const socket = this.#socket;
    socket.setTimeout(0);
    // An idle connection does not keep the process alive.
    socket.unref();
    const keptS = /\btimeout=(\d+)/i.exec(reader.header('keep-alive') ?? '')?.[1];
    if (keptS !== undefined) this.#usableUntilMs = now() + Number(keptS) * 1e3 - MARGIN_MS;
    // Answered before the request was sent: the rest of it would be taken for the next one.
    if (!reader.keepsAlive || socket.writableLength > 0) this.close();
    resolve(reader);
  }

  #fail(error: Error): void {
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.reject(error);
  }

  #closed(): void {
    const pending = this.#pending;
    if (pending?.reader.endsWithConnection) this.#done(pending);
    else this.#fail(new Error('the connection was closed before the answer'));
  }
}

function open(url: URL): Socket {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (url.protocol !== 'https:') return connectPlain({ host, port: Number(url.port) || 80 });
  return process.getBuiltinModule('node:tls').connect({
    host,
    port: Number(url.port) || 443,
    servername: isIP(host) === 0 ? host : undefined,
    ALPNProtocols: ['http/1.1'],
  });
}
