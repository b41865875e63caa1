import type { Attributes, AttributeValue, HrTime, Link, SpanContext, SpanStatus } from '@opentelemetry/api';
import type { ClockAnchor } from '../core/clock.ts';
import type { FinishedSpan } from '../core/finished-span.ts';
import type { AttributeKey, AttributeSink, Fragment } from '../core/fragment.ts';
import type { SpanOrigin } from '../core/lazy-span.ts';
import { identityOf, randomWord, SpanIdentity } from '../core/span-id.ts';
import type { RecordedSpan } from '../standalone/recorded-span.ts';
import { type ByteWriter, SpareBuffers } from './byte-writer.ts';
import type { ExportableSpan, Scope, SpanEvent } from './exportable-span.ts';
import type { SpanHead } from './span-head.ts';

const STATUS_ERROR: SpanStatus = { code: 2 };
const NOBODY = new SpanIdentity(0, 0, 0, 0, 0, 0, 0, undefined, false);

/** A service that makes a tracer in every request has as many scope objects as requests. */
const MAX_SCOPE_OBJECTS = 64;

/** Encoded spans of one instrumentation scope. */
export interface Batch<W extends ByteWriter> {
  readonly resource: ExportableSpan['resource'];
  readonly scope: Scope;
  readonly writer: W;
  spans: number;
}

/** Encoded spans on their way out. */
export interface Taken {
  /** One after the other they are what is to be sent. */
  readonly parts: Buffer[];
  readonly spans: number;
  /** Those of the parts that {@link SpanEncoder.giveBack} wants back. */
  readonly lent: readonly Buffer<ArrayBuffer>[];
}

/**
 * Encodes spans soon after they end. A span that waits for its export as bytes costs the garbage collector
 * nothing; as an object it would outlive a collection and then be expensive.
 */
export abstract class SpanEncoder<W extends ByteWriter> implements AttributeSink {
  /** Where the present span goes. */
  protected writer!: W;
  /** The present span's beginning: one object for all, it is filled thousands of times a second. */
  protected readonly span: SpanHead = {
    trace: NOBODY,
    idHigh: 0,
    idLow: 0,
    parent: undefined,
    name: '',
    nameIsFixed: false,
    kind: 0,
  };
  readonly #byResource = new Map<object, Map<string, Batch<W>>>();
  /** Batches by the scope objects that were seen since the last {@link take}: a tracer gives all its spans one. */
  readonly #byScope = new Map<object, Batch<W>>();
  readonly #spares = new SpareBuffers();
  #spans = 0;

  /** Spans that wait to be taken. */
  get spans(): number {
    return this.#spans;
  }

  /** Encoded length of what waits, without what goes around it. */
  get bytes(): number {
    let bytes = 0;
    for (const scopes of this.#byResource.values()) {
      for (const batch of scopes.values()) bytes += batch.writer.length;
    }
    return bytes;
  }

  /** @returns the resources of what waits. */
  get resources(): object[] {
    return [...this.#byResource.keys()];
  }

  /** Adds any ended span. Throws for one that cannot be encoded; nothing of it is left then. */
  add(span: ExportableSpan): void {
    const batch = this.#batchOf(span.resource, span.instrumentationScope);
    const mark = this.#begin(batch);
    try {
      const context = identityOf(span.spanContext());
      const parent = span.parentSpanContext;
      const known = parent && parent.spanId !== '' ? this.#identityOf(parent) : undefined;
      this.#set(context, context.high, context.low, known, span.name, false, span.kind);
      this.head();
      this.times(span.startTime, span.endTime);
      this.values(span.attributes);
      this.#tail(span);
      this.#end(batch);
    } catch (error) {
      batch.writer.truncate(mark);
      throw error;
    }
  }

  /** As {@link add}, for a finished span of ours. */
  addFinished(span: FinishedSpan, origin: SpanOrigin): void {
    const batch = this.#batchOf(origin.resource as ExportableSpan['resource'], origin.instrumentationScope);
    const mark = this.#begin(batch);
    try {
      const parent = this.#identityOf(span.parent);
      const own = span.context === undefined ? undefined : identityOf(span.context);
      const { name, fixed } = span;
      const high = own === undefined ? randomWord() : own.high;
      const low = own === undefined ? randomWord() : own.low;
      this.#set(parent, high, low, parent, name, fixed.name === name, span.kind);
      this.openOwn(span.anchor, span.startMs, span.endMs);
      span.writeAttributes(this);
      if (span.rest !== undefined) this.values(span.rest);
      this.endAttributes();
      if (span.links !== undefined) for (const link of span.links) this.link(link);
      if (span.error) this.status(STATUS_ERROR);
      this.#end(batch);
    } catch (error) {
      batch.writer.truncate(mark);
      throw error;
    }
  }

  /** As {@link add}, for a span that was recorded without the SDK. */
  addRecorded(span: RecordedSpan): void {
    if (span.hasOwnTimes) {
      this.add(span as unknown as ExportableSpan);
      return;
    }
    const batch = this.#batchOf(span.resource as ExportableSpan['resource'], span.instrumentationScope);
    const mark = this.#begin(batch);
    try {
      const { identity, name } = span;
      this.#set(identity, identity.high, identity.low, span.parent, name, span.fixedName === name, span.kind);
      this.openOwn(span.root.anchor, span.startMs, span.endMs);
      if (span.ownAttributes !== undefined) this.values(span.ownAttributes);
      span.writeAttributes(this);
      this.#tail(span);
      this.#end(batch);
    } catch (error) {
      batch.writer.truncate(mark);
      throw error;
    }
  }

  /** @returns everything that waited, ready to be sent, or undefined where nothing did. */
  take(): Buffer | undefined {
    const taken = this.takeParts();
    if (taken === undefined) return undefined;
    const bytes = Buffer.concat(taken.parts);
    this.giveBack(taken);
    return bytes;
  }

  /** As {@link take}, without a copy: to be given back once it is sent. */
  takeParts(): Taken | undefined {
    if (this.#spans === 0) return undefined;
    const parts: Buffer[] = [];
    const lent: Buffer<ArrayBuffer>[] = [];
    for (const [resource, scopes] of this.#byResource) {
      for (const [key, batch] of scopes) {
        // A scope that has been silent since the last time may never come back.
        if (batch.spans === 0) {
          scopes.delete(key);
          continue;
        }
        const bytes = batch.writer.handOver(this.#spares.take(batch.writer.length));
        lent.push(bytes);
        parts.push(...this.assemble(batch, bytes));
        batch.spans = 0;
      }
      if (scopes.size === 0) this.#byResource.delete(resource);
    }
    this.#byScope.clear();
    const spans = this.#spans;
    this.#spans = 0;
    return { parts, spans, lent };
  }

  /** Nobody reads what {@link takeParts} has returned any more. */
  giveBack({ lent }: Taken): void {
    for (const bytes of lent) this.#spares.giveBack(bytes);
  }

  protected values(attributes: Attributes): void {
    for (const key in attributes) {
      const value = attributes[key];
      if (typeof value === 'string') this.string(key, value);
      else if (value !== undefined && value !== null) this.value(key, value);
    }
  }

  decimal(key: AttributeKey, value: number): void {
    this.value(key.name, value);
  }

  /** The parents of a request's spans are few: the last one is kept. */
  #identityOf(parent: SpanContext): SpanIdentity {
    if (parent !== this.#lastParent) {
      this.#lastParent = parent;
      this.#lastIdentity = identityOf(parent);
    }
    return this.#lastIdentity!;
  }

  #lastParent: SpanContext | undefined;
  #lastIdentity: SpanIdentity | undefined;

  #set(
    trace: SpanIdentity,
    idHigh: number,
    idLow: number,
    parent: SpanIdentity | undefined,
    name: string,
    nameIsFixed: boolean,
    kind: number,
  ): void {
    const { span } = this;
    span.trace = trace;
    span.idHigh = idHigh;
    span.idLow = idLow;
    span.parent = parent;
    span.name = name;
    span.nameIsFixed = nameIsFixed;
    span.kind = kind + 1;
  }

  #tail(span: ExportableSpan | RecordedSpan): void {
    this.endAttributes();
    if (span.droppedAttributesCount > 0) this.dropped('attributes', span.droppedAttributesCount);
    for (const event of span.events) this.event(event);
    if (span.droppedEventsCount > 0) this.dropped('events', span.droppedEventsCount);
    for (const link of span.links) this.link(link);
    if (span.droppedLinksCount > 0) this.dropped('links', span.droppedLinksCount);
    if (span.status.code !== 0) this.status(span.status);
  }

  #begin(batch: Batch<W>): number {
    this.writer = batch.writer;
    const mark = batch.writer.length;
    this.open(batch);
    return mark;
  }

  #end(batch: Batch<W>): void {
    this.close();
    batch.spans++;
    this.#spans++;
  }

  #batchOf(resource: ExportableSpan['resource'], scope: Scope): Batch<W> {
    const last = this.#byScope.get(scope);
    if (last !== undefined && last.resource === resource) return last;
    let scopes = this.#byResource.get(resource);
    if (scopes === undefined) this.#byResource.set(resource, (scopes = new Map()));
    const key = `${scope.name}\0${scope.version ?? ''}`;
    let batch = scopes.get(key);
    if (batch === undefined) {
      batch = { resource, scope, writer: this.makeWriter(), spans: 0 };
      scopes.set(key, batch);
    }
    if (this.#byScope.size < MAX_SCOPE_OBJECTS) this.#byScope.set(scope, batch);
    return batch;
  }

  protected abstract makeWriter(): W;
  /** Puts resource and scope around the encoded spans of a batch. */
  protected abstract assemble(batch: Batch<W>, spans: Buffer): Buffer[];

  // One span, in this order.
  protected abstract open(batch: Batch<W>): void;
  /** Begins {@link span}. */
  protected abstract head(): void;
  protected abstract times(start: HrTime, end: HrTime): void;
  /** {@link head} and {@link times} of a span of ours, whose times are monotonic. */
  protected abstract openOwn(anchor: ClockAnchor, startMs: number, endMs: number): void;
  abstract fixed(fragment: Fragment): void;
  abstract text(key: AttributeKey, value: string): void;
  abstract integer(key: AttributeKey, value: number): void;
  protected abstract string(key: string, value: string): void;
  protected abstract value(key: string, value: AttributeValue): void;
  protected abstract endAttributes(): void;
  protected abstract event(event: SpanEvent): void;
  protected abstract link(link: Link): void;
  protected abstract dropped(what: 'attributes' | 'events' | 'links', count: number): void;
  protected abstract status(status: SpanStatus): void;
  protected abstract close(): void;
}
