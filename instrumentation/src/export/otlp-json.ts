import type { Attributes, AttributeValue, HrTime, Link, SpanStatus } from '@opentelemetry/api';
import type { ClockAnchor } from '../core/clock.ts';
import type { AttributeKey, Fragment } from '../core/fragment.ts';
import type { SpanEvent } from './exportable-span.ts';
import { JsonWriter } from './json-writer.ts';
import { type Batch, SpanEncoder } from './span-encoder.ts';
import { flagsOf, stateOf } from './span-head.ts';

const MAX_KEYS = 2_000;
const NAMES = {
  attributes: 'droppedAttributesCount',
  events: 'droppedEventsCount',
  links: 'droppedLinksCount',
};

/**
 * Lines of OTLP/JSON, each an ExportTraceServiceRequest: ids as hex, 64-bit integers as text, enums as numbers.
 * https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
export class JsonEncoder extends SpanEncoder<JsonWriter> {
  /** `{"key":"…","value":` by key. */
  readonly #keys = new Map<string, string>();
  #isFirst = true;

  protected makeWriter(): JsonWriter {
    return new JsonWriter();
  }

  protected assemble({ resource, scope }: Batch<JsonWriter>, spans: Buffer): Buffer[] {
    const version = scope.version === undefined ? '' : `,"version":${JSON.stringify(scope.version)}`;
    const head =
      `{"resourceSpans":[{"resource":{"attributes":[${pairs(resource.attributes)}]},` +
      `"scopeSpans":[{"scope":{"name":${JSON.stringify(scope.name)}${version}},"spans":[`;
    return [Buffer.from(head), spans, Buffer.from(']}]}]}\n')];
  }

  protected open(batch: Batch<JsonWriter>): void {
    // What a span that could not be encoded has left open is not this one's.
    this.#list = '';
    this.#hasStatus = false;
    if (batch.spans > 0) this.writer.ascii(',');
  }

  protected head(): void {
    const { trace, idHigh, idLow, parent, name, kind } = this.span;
    const state = stateOf(trace);
    const { writer } = this;
    writer.ascii('{"traceId":"');
    writer.hexWord(trace.trace0);
    writer.hexWord(trace.trace1);
    writer.hexWord(trace.trace2);
    writer.hexWord(trace.trace3);
    writer.ascii('","spanId":"');
    writer.hexWord(idHigh);
    writer.hexWord(idLow);
    writer.ascii('"');
    if (state !== undefined) {
      writer.ascii(',"traceState":');
      writer.quoted(state);
    }
    if (parent !== undefined) {
      writer.ascii(',"parentSpanId":"');
      writer.hexWord(parent.high);
      writer.hexWord(parent.low);
      writer.ascii('"');
    }
    writer.ascii(`,"flags":${flagsOf(trace, parent)},"name":`);
    writer.quoted(name);
    writer.ascii(`,"kind":${kind}`);
  }

  protected times(start: HrTime, end: HrTime): void {
    this.#times(unixNano(start), unixNano(end));
  }

  protected openOwn(anchor: ClockAnchor, startMs: number, endMs: number): void {
    this.head();
    this.#times(anchor.toUnixNano(startMs), anchor.toUnixNano(endMs));
  }

  #times(start: string, end: string): void {
    this.writer.ascii(`,"startTimeUnixNano":"${start}","endTimeUnixNano":"${end}","attributes":[`);
    this.#isFirst = true;
  }

  fixed(fragment: Fragment): void {
    fragment.json ??= Buffer.from(pairs(fragment.attributes));
    if (fragment.json.length === 0) return;
    this.#comma();
    this.writer.bytes(fragment.json);
  }

  text(key: AttributeKey, value: string): void {
    this.#comma();
    this.writer.utf8((key.json ??= headOf(key.name)));
    this.#string(value);
  }

  integer(key: AttributeKey, value: number): void {
    this.#comma();
    this.writer.utf8((key.json ??= headOf(key.name)));
    this.writer.ascii(`{"intValue":"${value}"}}`);
  }

  protected string(key: string, value: string): void {
    this.#key(key);
    this.#string(value);
  }

  #string(value: string): void {
    this.writer.ascii('{"stringValue":');
    this.writer.quoted(value);
    this.writer.ascii('}}');
  }

  protected value(key: string, value: AttributeValue): void {
    this.#key(key);
    this.writer.utf8(`${anyValue(value)}}`);
  }

  protected endAttributes(): void {
    this.writer.ascii(']');
  }

  protected event({ name, time, attributes }: SpanEvent): void {
    this.#element('"events":[');
    const list = pairs(attributes ?? {});
    this.writer.utf8(
      `{"timeUnixNano":"${unixNano(time)}","name":${JSON.stringify(name)},"attributes":[${list}]}`,
    );
  }

  protected link({ context, attributes }: Link): void {
    this.#element('"links":[');
    const { traceId, spanId, traceFlags } = context;
    const list = pairs(attributes ?? {});
    this.writer.utf8(
      `{"traceId":"${traceId}","spanId":"${spanId}","attributes":[${list}],"flags":${traceFlags & 0xff}}`,
    );
  }

  protected dropped(what: keyof typeof NAMES, count: number): void {
    this.#endList();
    this.writer.ascii(`,"${NAMES[what]}":${count}`);
  }

  protected status({ code, message }: SpanStatus): void {
    this.#endList();
    this.writer.utf8(
      message
        ? `,"status":{"code":${code},"message":${JSON.stringify(message)}}`
        : `,"status":{"code":${code}}`,
    );
    this.#hasStatus = true;
  }

  protected close(): void {
    this.#endList();
    this.writer.ascii(this.#hasStatus ? '}' : ',"status":{}}');
  }

  #hasStatus = false;
  /** The list that is being written: events, then links. */
  #list = '';

  #element(list: string): void {
    if (this.#list === list) {
      this.writer.ascii(',');
      return;
    }
    this.#endList();
    this.#list = list;
    this.writer.ascii(`,${list}`);
  }

  #endList(): void {
    if (this.#list === '') return;
    this.#list = '';
    this.writer.ascii(']');
  }

  #comma(): void {
    if (this.#isFirst) this.#isFirst = false;
    else this.writer.ascii(',');
  }

  #key(key: string): void {
    this.#comma();
    let head = this.#keys.get(key);
    if (head === undefined) {
      head = headOf(key);
      if (this.#keys.size < MAX_KEYS) this.#keys.set(key, head);
    }
    this.writer.utf8(head);
  }
}

/** @returns the beginning of an element of an attribute list, up to its value. */
function headOf(key: string): string {
  return `{"key":${JSON.stringify(key)},"value":`;
}

/** @returns the elements of an attribute list. */
function pairs(attributes: Readonly<Attributes>): string {
  const list: string[] = [];
  for (const key of Object.keys(attributes)) {
    const value = attributes[key];
    if (value === undefined || value === null) continue;
    list.push(`{"key":${JSON.stringify(key)},"value":${anyValue(value)}}`);
  }
  return list.join(',');
}

function anyValue(value: AttributeValue | null | undefined): string {
  switch (typeof value) {
    case 'string':
      return `{"stringValue":${JSON.stringify(value)}}`;
    case 'boolean':
      return `{"boolValue":${value}}`;
    case 'number':
      if (Number.isSafeInteger(value)) return `{"intValue":"${value}"}`;
      // JSON has no NaN and no infinities; protobuf's JSON mapping spells them as text.
      return Number.isFinite(value) ? `{"doubleValue":${value}}` : `{"doubleValue":"${value}"}`;
    default:
      if (Array.isArray(value)) return `{"arrayValue":{"values":[${value.map(anyValue).join(',')}]}}`;
      return value === null || value === undefined
        ? '{}'
        : `{"stringValue":${JSON.stringify(String(value))}}`;
  }
}

function unixNano([seconds, nanos]: HrTime): string {
  return seconds === 0 ? String(nanos) : `${seconds}${String(nanos).padStart(9, '0')}`;
}
