import type { Agent } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import { http, https } from '../core/node-http.ts';
import { suppressTracing } from '../core/suppress.ts';
import { warnOnce } from '../core/warn.ts';

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
    if (at > 0) headers[pair.slice(0, at).trim()] = decodeURIComponent(pair.slice(at + 1).trim());
  }
  return headers;
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
  readonly #agent: Agent;

  constructor(target: OtlpTarget) {
    this.#target = target;
    const options = { keepAlive: true, maxSockets: 2 };
    this.#agent = target.url.protocol === 'https:' ? new https.Agent(options) : new http.Agent(options);
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

  #post(payload: readonly Buffer[]): Promise<Answer> {
    const { url, headers, timeoutMs, compress } = this.#target;
    const module = url.protocol === 'https:' ? https : http;
    return context.with(suppressTracing(ROOT_CONTEXT), () => {
      return new Promise<Answer>((resolve) => {
        const failed = (error: Error) =>
          resolve({ status: 0, retryAfterMs: undefined, reason: error.message });
        const request = module.request(
          url,
          {
            method: 'POST',
            agent: this.#agent,
            timeout: timeoutMs,
            headers: {
              'Content-Type': 'application/x-protobuf',
              'Content-Length': payload.reduce((length, part) => length + part.length, 0),
              ...(compress && { 'Content-Encoding': 'gzip' }),
              ...headers,
            },
          },
          (response) => {
            response.resume();
            response.once('error', failed);
            response.once('end', () => {
              const status = response.statusCode ?? 0;
              const seconds = Number(response.headers['retry-after']);
              resolve({
                status,
                retryAfterMs: seconds > 0 ? Math.min(MAX_PAUSE_MS, seconds * 1e3) : undefined,
                reason: `status ${status}`,
              });
            });
          },
        );
        request.once('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)));
        request.once('error', failed);
        request.cork();
        for (const part of payload) request.write(part);
        request.end();
      });
    });
  }
}
