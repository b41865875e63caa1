import type { Attributes, AttributeValue, HrTime, Link, SpanStatus } from '@opentelemetry/api';
import type { ClockAnchor } from '../core/clock.ts';
import type { AttributeKey, Fragment } from '../core/fragment.ts';
import { identityOf } from '../core/span-id.ts';
import type { SpanEvent } from './exportable-span.ts';
import { ProtobufWriter } from './protobuf-writer.ts';
import { type Batch, SpanEncoder } from './span-encoder.ts';
import { flagsOf, stateOf } from './span-head.ts';

const MAX_KEYS = 2_000;
/** A pair with a longer key does not fit the short form of lengths. */
const MAX_SHORT_KEY = 64;
const ATTRIBUTES = 9;
const DROPPED = { attributes: 10, events: 12, links: 14 };

/**
 * An ExportTraceServiceRequest in protobuf. Field numbers are those of
 * https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
 */
export class ProtobufEncoder extends SpanEncoder<ProtobufWriter> {
  readonly #keys = new Map<string, Uint8Array>();
  /** For what is encoded once and kept. */
  readonly #scratch = new ProtobufWriter();
  #message = 0;

  protected makeWriter(): ProtobufWriter {
    return new ProtobufWriter();
  }

  protected assemble(batch: Batch<ProtobufWriter>, spans: Buffer): Buffer[] {
    const head = this.#scratch;
    const scope = head.open(1);
    head.string(1, batch.scope.name);
    if (batch.scope.version) head.string(2, batch.scope.version);
    head.close(scope);
    const scopeHead = head.take();
    const resource = head.open(1);
    this.#pairs(head, 1, batch.resource.attributes);
    head.close(resource);
    // Both messages around the spans may be larger than a writer's own.
    const scopeLength = scopeHead.length + spans.length;
    const scopeTag = messageHead(2, scopeLength);
    const resourceLength = head.length + scopeTag.length + scopeLength;
    return [Buffer.concat([messageHead(1, resourceLength), head.take(), scopeTag, scopeHead]), spans];
  }

  protected open(): void {}

  protected head(): void {
    const { writer } = this;
    const { trace, idHigh, idLow, parent, name, kind } = this.span;
    const state = stateOf(trace);
    this.span.nameIsFixed = false;
    this.#message = writer.open(2);
    writer.traceId(1, trace);
    writer.id(2, idHigh, idLow);
    if (state !== undefined) writer.string(3, state);
    if (parent !== undefined) writer.id(4, parent.high, parent.low);
    writer.string(5, name);
    writer.varint(6, kind);
    writer.fixed32(16, flagsOf(trace, parent));
  }

  protected openOwn(anchor: ClockAnchor, startMs: number, endMs: number): void {
    const { writer, span } = this;
    this.#message = writer.openSpan(2, span, flagsOf(span.trace, span.parent), anchor, startMs, endMs);
    const state = stateOf(span.trace);
    if (state !== undefined) writer.string(3, state);
    if (!span.nameIsFixed) writer.string(5, span.name);
  }

  protected times(start: HrTime, end: HrTime): void {
    this.writer.time(7, start);
    this.writer.time(8, end);
  }

  fixed(fragment: Fragment): void {
    if (fragment.name !== undefined && this.span.nameIsFixed) {
      fragment.protobufNamed ??= this.#encoded(fragment, fragment.name);
      this.writer.bytes(fragment.protobufNamed);
    } else {
      fragment.protobuf ??= this.#encoded(fragment, undefined);
      this.writer.bytes(fragment.protobuf);
    }
  }

  #encoded(fragment: Fragment, name: string | undefined): Uint8Array {
    const own = this.#scratch;
    if (name !== undefined) own.string(5, name);
    this.#pairs(own, ATTRIBUTES, fragment.attributes);
    return own.take();
  }

  text(key: AttributeKey, value: string): void {
    key.protobuf ??= this.#encodedKey(key.name);
    this.writer.textPair(ATTRIBUTES, key.protobuf, value);
  }

  integer(key: AttributeKey, value: number): void {
    key.protobuf ??= this.#encodedKey(key.name);
    if (value >= 0 && key.name.length <= MAX_SHORT_KEY)
      this.writer.integerPair(ATTRIBUTES, key.protobuf, value);
    else this.value(key.name, value);
  }

  protected string(key: string, value: string): void {
    this.writer.textPair(ATTRIBUTES, this.#key(key), value);
  }

  protected value(key: string, value: AttributeValue): void {
    pair(this.writer, ATTRIBUTES, key, value);
  }

  protected endAttributes(): void {}

  protected event(event: SpanEvent): void {
    const { writer } = this;
    const part = writer.open(11);
    writer.time(1, event.time);
    writer.string(2, event.name);
    this.#pairs(writer, 3, event.attributes ?? {});
    writer.close(part);
  }

  protected link(link: Link): void {
    const { writer } = this;
    const part = writer.open(13);
    const context = identityOf(link.context);
    writer.traceId(1, context);
    writer.id(2, context.high, context.low);
    this.#pairs(writer, 4, link.attributes ?? {});
    writer.fixed32(6, context.traceFlags & 0xff);
    writer.close(part);
  }

  protected dropped(what: 'attributes' | 'events' | 'links', count: number): void {
    this.writer.varint(DROPPED[what], count);
  }

  protected status(status: SpanStatus): void {
    const part = this.writer.open(15);
    if (status.message) this.writer.string(2, status.message);
    this.writer.varint(3, status.code);
    this.writer.close(part);
  }

  protected close(): void {
    this.writer.close(this.#message);
  }

  /** @returns the key's field of a pair and the tag of its value's field, encoded once per key. */
  #key(key: string): Uint8Array {
    const known = this.#keys.get(key);
    if (known !== undefined) return known;
    const bytes = this.#encodedKey(key);
    if (this.#keys.size < MAX_KEYS) this.#keys.set(key, bytes);
    return bytes;
  }

  #encodedKey(key: string): Uint8Array {
    const own = this.#scratch;
    own.string(1, key);
    own.bytes(VALUE_TAG);
    return own.take();
  }

  #pairs(to: ProtobufWriter, field: number, attributes: Readonly<Attributes>): void {
    for (const key of Object.keys(attributes)) {
      const value = attributes[key];
      if (value !== undefined && value !== null) pair(to, field, key, value);
    }
  }
}

/** Field 2, with a length. */
const VALUE_TAG = Uint8Array.of((2 << 3) | 2);

function messageHead(field: number, length: number): Buffer {
  const head: number[] = [(field << 3) | 2];
  let rest = length;
  while (rest > 0x7f) {
    head.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  head.push(rest);
  return Buffer.from(head);
}

function pair(to: ProtobufWriter, field: number, key: string, value: AttributeValue): void {
  const message = to.open(field);
  to.string(1, key);
  anyValue(to, 2, value);
  to.close(message);
}

function anyValue(to: ProtobufWriter, field: number, value: AttributeValue | null | undefined): void {
  const any = to.open(field);
  switch (typeof value) {
    case 'string':
      to.string(1, value);
      break;
    case 'boolean':
      to.varint(2, value ? 1 : 0);
      break;
    case 'number':
      if (Number.isSafeInteger(value)) to.varint(3, value);
      else to.double(4, value);
      break;
    default:
      if (!Array.isArray(value)) break;
      {
        const list = to.open(5);
        for (const element of value) anyValue(to, 1, element);
        to.close(list);
      }
  }
  to.close(any);
}
