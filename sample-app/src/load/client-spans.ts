import { randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { ATTR_RESOURCE, ATTR_SEGMENT, SCOPE_NAME, waitSpanName } from '@waitfall/instrumentation/conventions';
import type { Outcome } from './outcome.ts';
import type { PreparedRequest } from './requests.ts';

/** Spans collected before a line is written. */
const BATCH = 500;
const KIND_INTERNAL = 1;
const KIND_CLIENT = 3;
const STATUS_ERROR = 2;
/** The resource that a planned arrival waits for until it is sent. */
const GENERATOR = 'load-generator';

/** One sending of a request, epoch ns. */
export interface Attempt {
  /** Id of the CLIENT span that the service saw as its parent. */
  readonly spanId: string;
  readonly sentNs: bigint;
  readonly endNs: bigint;
  readonly outcome: Outcome;
  readonly status: number | null;
}

/**
 * Writes what the client saw as OTLP JSON lines: one CLIENT span from the planned arrival to the last byte of
 * the answer, its first part (until the request was really sent) as `generator_wait`.
 */
export class ClientSpanWriter {
  readonly #file: FileHandle;
  readonly #target: URL;
  readonly #repeats: boolean;
  #spans: object[] = [];
  #written: Promise<unknown> = Promise.resolve();

  private constructor(file: FileHandle, target: URL, repeats: boolean) {
    this.#file = file;
    this.#target = target;
    this.#repeats = repeats;
  }

  /** @param repeats requests may be sent more than once. */
  static async open(path: string, target: URL, repeats: boolean): Promise<ClientSpanWriter> {
    return new ClientSpanWriter(await open(path, 'a'), target, repeats);
  }

  /** Writes one request. Where it may be sent more than once, each sending is a CLIENT span under its root. */
  write(traceId: string, request: PreparedRequest, plannedNs: bigint, attempts: readonly Attempt[]): void {
    const first = attempts[0]!;
    const last = attempts.at(-1)!;
    const rootId = this.#repeats ? randomBytes(8).toString('hex') : first.spanId;
    const name = `${request.class.method} ${request.class.route ?? request.class.path}`;
    this.#add({
      traceId,
      spanId: rootId,
      name,
      kind: this.#repeats ? KIND_INTERNAL : KIND_CLIENT,
      ...times(plannedNs, last.endNs),
      attributes: [...this.#attributes(request, last), text('load.request', request.class.name)],
      status: statusOf(last),
    });
    if (first.sentNs > plannedNs) {
      this.#add({
        traceId,
        spanId: randomBytes(8).toString('hex'),
        parentSpanId: rootId,
        name: waitSpanName(GENERATOR),
        kind: KIND_INTERNAL,
        ...times(plannedNs, first.sentNs),
        attributes: [text(ATTR_SEGMENT, 'generator_wait'), text(ATTR_RESOURCE, GENERATOR)],
        status: {},
      });
    }
    if (!this.#repeats) return;
    for (const [index, attempt] of attempts.entries()) {
      this.#add({
        traceId,
        spanId: attempt.spanId,
        parentSpanId: rootId,
        name,
        kind: KIND_CLIENT,
        ...times(attempt.sentNs, attempt.endNs),
        attributes: [...this.#attributes(request, attempt), number('http.request.resend_count', index)],
        status: statusOf(attempt),
      });
    }
  }

  #attributes(request: PreparedRequest, { outcome, status }: Attempt): object[] {
    const attributes = [
      text('http.request.method', request.class.method),
      text('http.route', request.class.route ?? request.class.path),
      text('url.path', request.path),
      text('server.address', this.#target.hostname),
      number('server.port', Number(this.#target.port || 80)),
      text('load.outcome', outcome),
    ];
    if (status !== null) attributes.push(number('http.response.status_code', status));
    if (outcome !== 'succeeded') attributes.push(text('error.type', errorType(outcome, status)));
    return attributes;
  }

  #add(span: object): void {
    this.#spans.push(span);
    if (this.#spans.length >= BATCH) this.#flush();
  }

  #flush(): void {
    const resource = {
      attributes: [
        text('service.name', GENERATOR),
        text('service.instance.id', String(process.pid)),
        text('host.name', hostname()),
        number('process.pid', process.pid),
      ],
    };
    const scopeSpans = [{ scope: { name: SCOPE_NAME }, spans: this.#spans }];
    const line = JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] });
    this.#spans = [];
    this.#written = this.#written.then(() => this.#file.write(`${line}\n`));
  }

  /** Writes what is left and closes the file; a failed write is reported here. */
  async close(): Promise<void> {
    if (this.#spans.length > 0) this.#flush();
    await this.#written;
    await this.#file.close();
  }
}

function times(startNs: bigint, endNs: bigint): object {
  return { startTimeUnixNano: String(startNs), endTimeUnixNano: String(endNs) };
}

function statusOf({ outcome }: Attempt): object {
  return outcome === 'succeeded' ? {} : { code: STATUS_ERROR };
}

function errorType(outcome: Outcome, status: number | null): string {
  if (outcome === 'timedOut') return 'timeout';
  return status === null ? outcome : String(status);
}

function text(key: string, value: string): object {
  return { key, value: { stringValue: value } };
}

function number(key: string, value: number): object {
  return { key, value: { intValue: String(value) } };
}
