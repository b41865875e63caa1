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

/** Moments of one request at the client, epoch ns. */
export interface ClientTimes {
  readonly plannedNs: bigint;
  readonly sentNs: bigint;
  readonly endNs: bigint;
}

/**
 * Writes what the client saw as OTLP JSON lines: one CLIENT span from the planned arrival to the last byte of
 * the answer, its first part (until the request was really sent) as `generator_wait`.
 */
export class ClientSpanWriter {
  readonly #file: FileHandle;
  readonly #target: URL;
  #spans: object[] = [];
  #written: Promise<unknown> = Promise.resolve();

  private constructor(file: FileHandle, target: URL) {
    this.#file = file;
    this.#target = target;
  }

  static async open(path: string, target: URL): Promise<ClientSpanWriter> {
    return new ClientSpanWriter(await open(path, 'a'), target);
  }

  write(
    ids: { readonly traceId: string; readonly spanId: string; readonly waitSpanId: string },
    request: PreparedRequest,
    times: ClientTimes,
    outcome: Outcome,
    status: number | null,
  ): void {
    const { traceId, spanId, waitSpanId } = ids;
    const route = request.class.route ?? request.class.path;
    const attributes = [
      text('http.request.method', request.class.method),
      text('http.route', route),
      text('url.path', request.path),
      text('server.address', this.#target.hostname),
      number('server.port', Number(this.#target.port || 80)),
      text('load.request', request.class.name),
      text('load.outcome', outcome),
    ];
    if (status !== null) attributes.push(number('http.response.status_code', status));
    if (outcome !== 'succeeded') attributes.push(text('error.type', errorType(outcome, status)));
    this.#spans.push({
      traceId,
      spanId,
      name: `${request.class.method} ${route}`,
      kind: KIND_CLIENT,
      startTimeUnixNano: String(times.plannedNs),
      endTimeUnixNano: String(times.endNs),
      attributes,
      status: outcome === 'succeeded' ? {} : { code: STATUS_ERROR },
    });
    if (times.sentNs > times.plannedNs) {
      this.#spans.push({
        traceId,
        spanId: waitSpanId,
        parentSpanId: spanId,
        name: waitSpanName(GENERATOR),
        kind: KIND_INTERNAL,
        startTimeUnixNano: String(times.plannedNs),
        endTimeUnixNano: String(times.sentNs),
        attributes: [text(ATTR_SEGMENT, 'generator_wait'), text(ATTR_RESOURCE, GENERATOR)],
        status: {},
      });
    }
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
