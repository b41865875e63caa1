import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { http } from '../core/node-http.ts';
import { suppressTracing } from '../core/suppress.ts';
import { warnOnce } from '../core/warn.ts';
import { PostConnection } from './post-connection.ts';

/** As it was when this was loaded: it is not the work of the request that runs. */
const compress = promisify(gzip);
const RETRYABLE = new Set([429, 502, 503, 504]);
const MAX_ATTEMPTS = 5;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;

/** Where and how to send, by the OpenTelemetry variables. */
export interface OtlpTarget {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly compress: boolean;
}

/** @returns the OTLP/HTTP target of the environment, or undefined where none is set. */
export function otlpTargetFromEnv(env: NodeJS.ProcessEnv = process.env): OtlpTarget | undefined {
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  const common = env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const text = own || (common && `${common.replace(/\/$/, '')}/v1/traces`);
  if (!text) return undefined;
  if (!URL.canParse(text)) {
    warnOnce('otlp-url', `OTEL_EXPORTER_OTLP_ENDPOINT is not a URL: ${text}`);
    return undefined;
  }
  const setting = (name: string) =>
    env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] ?? env[`OTEL_EXPORTER_OTLP_${name}`];
  return {
    url: new URL(text),
    headers: headersOf(
      `${env['OTEL_EXPORTER_OTLP_HEADERS'] ?? ''},${env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? ''}`,
    ),
    timeoutMs: Number(setting('TIMEOUT')) || 10_000,
    compress: setting('COMPRESSION') === 'gzip',
  };
}

function headersOf(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const pair of text.split(',')) {
    const at = pair.indexOf('=');
    if (at > 0) headers[pair.slice(0, at).trim()] = decoded(pair.slice(at + 1).trim());
  }
  return headers;
}

/** @returns the text itself where its percent signs encode nothing. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

interface Answer {
  /** 0 where there was none. */
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly reason: string;
}

/** Posts encoded batches; its own requests are not traced. Failures are said once and never thrown. */
export class OtlpSender {
  readonly #target: OtlpTarget;
  readonly #head: string;
  #last: PostConnection | undefined;

  constructor(target: OtlpTarget) {
    this.#target = target;
    this.#head = headOf(target);
  }

  /**
   * @param body its parts; not to be changed before the promise is settled.
   * @returns whether the batch was accepted.
   */
  async send(body: readonly Buffer[]): Promise<boolean> {
    const payload = this.#target.compress ? [await compress(Buffer.concat(body), { level: 1 })] : body;
    let pauseMs = FIRST_PAUSE_MS;
    for (let attempt = 1; ; attempt++) {
      const { status, retryAfterMs, reason } = await this.#post(payload);
      if (status >= 200 && status < 300) return true;
      const retry = (status === 0 || RETRYABLE.has(status)) && attempt < MAX_ATTEMPTS;
      if (!retry) {
        warnOnce('otlp-send', `spans could not be sent to ${this.#target.url.origin}: ${reason}`);
        return false;
      }
      await new Promise((resolve) =>
        setTimeout(resolve, retryAfterMs ?? pauseMs * (0.8 + Math.random() * 0.4)).unref(),
      );
      pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2);
    }
  }

  async #post(payload: readonly Buffer[]): Promise<Answer> {
    const length = payload.reduce((sum, part) => sum + part.length, 0);
    const head = `${this.#head}Content-Length: ${length}\r\n\r\n`;
    try {
      const answer = await context.with(suppressTracing(ROOT_CONTEXT), () =>
        this.#connection().post(head, payload, this.#target.timeoutMs),
      );
      const { status } = answer;
      const seconds = Number(answer.header('retry-after'));
      const retryAfterMs = seconds > 0 ? Math.min(MAX_PAUSE_MS, seconds * 1e3) : undefined;
      return { status, retryAfterMs, reason: `status ${status}` };
    } catch (error) {
      return { status: 0, retryAfterMs: undefined, reason: (error as Error).message };
    }
  }

  /** @returns one that is free; batches are sent one after the other, so it is mostly the same. */
  #connection(): PostConnection {
    if (this.#last?.isFree !== true) {
      if (this.#last?.isBusy === false) this.#last.close();
      this.#last = new PostConnection(this.#target.url);
    }
    return this.#last;
  }
}

/** Their values are ours to say. */
const OWN_HEADERS = ['content-length', 'transfer-encoding', 'connection'];

/** @returns the head of every request, up to the length of its body. */
function headOf({ url, headers, compress: isCompressed }: OtlpTarget): string {
  const all = new Map([
    ['host', url.host],
    ['content-type', 'application/x-protobuf'],
  ]);
  if (isCompressed) all.set('content-encoding', 'gzip');
  if (url.username !== '' || url.password !== '') {
    const user = `${decoded(url.username)}:${decoded(url.password)}`;
    all.set('authorization', `Basic ${Buffer.from(user).toString('base64')}`);
  }
  for (const [name, value] of Object.entries(headers)) {
    try {
      http.validateHeaderName(name);
      http.validateHeaderValue(name, value);
      if (!OWN_HEADERS.includes(name.toLowerCase())) all.set(name.toLowerCase(), value);
    } catch {
      warnOnce('otlp-header', `OTEL_EXPORTER_OTLP_HEADERS: ${name} is not a valid header and is left out`);
    }
  }
  const lines = [...all].map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}`;
}
