import type { Attributes, AttributeValue, HrTime, Link, SpanContext, SpanStatus } from '@opentelemetry/api';
import type { ClockAnchor } from '../core/clock.ts';
import type { FinishedSpan } from '../core/finished-span.ts';
import type { AttributeSink, Fragment } from '../core/fragment.ts';
import type { SpanOrigin } from '../core/lazy-span.ts';
import { identityOf, randomWord, type SpanIdentity } from '../core/span-id.ts';
import type { RecordedSpan } from '../standalone/recorded-span.ts';
import type { ByteWriter } from './byte-writer.ts';
import type { ExportableSpan, Scope, SpanEvent } from './exportable-span.ts';

/** OTLP `SpanFlags`: whether the parent is remote is known / is true. */
const FLAG_HAS_IS_REMOTE = 0x100;
const FLAG_IS_REMOTE = 0x200;

const STATUS_ERROR: SpanStatus = { code: 2 };

/** Encoded spans of one instrumentation scope. */
export interface Batch<W extends ByteWriter> {
  readonly resource: ExportableSpan['resource'];
  readonly scope: Scope;
  readonly writer: W;
  spans: number;
}

/** @returns the trace state as text, undefined where there is none. */
export function stateOf(context: SpanIdentity): string | undefined {
  return context.traceState === undefined ? undefined : context.traceState.serialize() || undefined;
}

export function flagsOf(context: SpanIdentity, parent: SpanIdentity | undefined): number {
  const flags = context.traceFlags & 0xff;
  if (parent === undefined) return flags;
  return flags | FLAG_HAS_IS_REMOTE | (parent.isRemote ? FLAG_IS_REMOTE : 0);
}

/**
 * Encodes spans the moment they end. A span that waits for its export as bytes costs the garbage collector
 * nothing; as an object it would outlive a collection and then be expensive.
 */
export abstract class SpanEncoder<W extends ByteWriter> implements AttributeSink {
  /** Where the present span goes. */
  protected writer!: W;
  readonly #byResource = new Map<object, Map<string, Batch<W>>>();
  #last: Batch<W> | undefined;
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
      const { high, low } = context;
      this.#head(context, high, low, parent && parent.spanId !== '' ? identityOf(parent) : undefined, span);
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
      this.openOwn(
        parent,
        own === undefined ? randomWord() : own.high,
        own === undefined ? randomWord() : own.low,
        parent,
        name,
        fixed.name === name,
        span.kind + 1,
        span.anchor,
        span.startMs,
        span.endMs,
      );
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
      this.openOwn(
        identity,
        identity.high,
        identity.low,
        span.parent,
        name,
        span.fixedName === name,
        span.kind + 1,
        span.root.anchor,
        span.startMs,
        span.endMs,
      );
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
    if (this.#spans === 0) return undefined;
    const parts: Buffer[] = [];
    for (const [resource, scopes] of this.#byResource) {
      for (const [key, batch] of scopes) {
        // A scope that has been silent since the last time may never come back.
        if (batch.spans === 0) scopes.delete(key);
        else parts.push(...this.assemble(batch));
        batch.spans = 0;
      }
      if (scopes.size === 0) this.#byResource.delete(resource);
    }
    this.#last = undefined;
    this.#spans = 0;
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  protected values(attributes: Attributes): void {
    for (const key in attributes) {
      const value = attributes[key];
      if (typeof value === 'string') this.text(key, value);
      else if (value !== undefined && value !== null) this.value(key, value);
    }
  }

  integer(key: string, value: number): void {
    this.value(key, value);
  }

  decimal(key: string, value: number): void {
    this.value(key, value);
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

  #head(
    context: SpanIdentity,
    high: number,
    low: number,
    parent: SpanIdentity | undefined,
    { name, kind }: { readonly name: string; readonly kind: number },
  ): void {
    this.head(context, high, low, stateOf(context), parent, flagsOf(context, parent), name, kind + 1);
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
    const last = this.#last;
    if (last !== undefined && last.scope === scope && last.resource === resource) return last;
    let scopes = this.#byResource.get(resource);
    if (scopes === undefined) this.#byResource.set(resource, (scopes = new Map()));
    // Scopes are not compared by identity: a service may ask for a tracer in every request.
    const key = `${scope.name}\0${scope.version ?? ''}`;
    let batch = scopes.get(key);
    if (batch === undefined) {
      batch = { resource, scope, writer: this.makeWriter(), spans: 0 };
      scopes.set(key, batch);
    }
    if (batch.scope === scope) this.#last = batch;
    return batch;
  }

  protected abstract makeWriter(): W;
  /** Puts resource and scope around a batch's spans and empties its writer. */
  protected abstract assemble(batch: Batch<W>): Buffer[];

  // One span, in this order.
  protected abstract open(batch: Batch<W>): void;
  /** @param trace a span of its trace. */
  protected abstract head(
    trace: SpanIdentity,
    idHigh: number,
    idLow: number,
    state: string | undefined,
    parent: SpanIdentity | undefined,
    flags: number,
    name: string,
    kind: number,
  ): void;
  protected abstract times(start: HrTime, end: HrTime): void;
  /**
   * {@link head} and {@link times} of a span of ours, whose times are monotonic.
   *
   * @param nameIsFixed a fragment with this name follows: where fragments hold names it is not needed here.
   */
  protected abstract openOwn(
    trace: SpanIdentity,
    idHigh: number,
    idLow: number,
    parent: SpanIdentity | undefined,
    name: string,
    nameIsFixed: boolean,
    kind: number,
    anchor: ClockAnchor,
    startMs: number,
    endMs: number,
  ): void;
  abstract fixed(fragment: Fragment): void;
  abstract text(key: string, value: string): void;
  abstract value(key: string, value: AttributeValue): void;
  protected abstract endAttributes(): void;
  protected abstract event(event: SpanEvent): void;
  protected abstract link(link: Link): void;
  protected abstract dropped(what: 'attributes' | 'events' | 'links', count: number): void;
  protected abstract status(status: SpanStatus): void;
  protected abstract close(): void;
}
