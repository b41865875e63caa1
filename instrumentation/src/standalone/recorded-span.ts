import {
  type Attributes,
  type AttributeValue,
  type Exception,
  type HrTime,
  type Link,
  type Span,
  type SpanContext,
  type SpanKind,
  type SpanStatus,
  SpanStatusCode,
  type TimeInput,
} from '@opentelemetry/api';
import { now } from '../core/clock.ts';
import { AttributeObject, type AttributeSink } from '../core/fragment.ts';
import type { SpanOrigin } from '../core/lazy-span.ts';
import { loopIdleMs } from '../core/loop-clock.ts';
import { kRoot, kStartMs, RootRecord } from '../core/root.ts';
import type { SpanIdentity } from '../core/span-id.ts';

const UNSET: SpanStatus = { code: SpanStatusCode.UNSET };
/** Limits of the OpenTelemetry specification. */
const MAX_ATTRIBUTES = 128;
const MAX_EVENTS = 128;
const MAX_LINKS = 128;

interface SpanEvent {
  name: string;
  time: HrTime;
  attributes?: Attributes;
  droppedAttributesCount?: number;
}

/** What a span has to say beside the attributes that were set on it. */
export interface SpanDetails {
  /** The name that stands in a fragment of its attributes. */
  readonly fixedName: string | undefined;
  /** @param own attributes that were set on the span: they win. */
  writeAttributes(sink: AttributeSink, own: Attributes | undefined): void;
}

/** A span recorded without the SDK: what the OpenTelemetry API lets a service do with it, and what exporters read. */
export class RecordedSpan implements Span {
  name: string;
  readonly kind: SpanKind;
  readonly identity: SpanIdentity;
  /** Undefined at the top of a trace. */
  readonly parent: SpanIdentity | undefined;
  /** Set by the service, or by other instrumentations. */
  ownAttributes: Attributes | undefined = undefined;
  /** Set by what made the span, where that is not the service. */
  details: SpanDetails | undefined = undefined;
  links: Link[];
  events: SpanEvent[] = NO_EVENTS;
  status: SpanStatus = UNSET;
  /** Monotonic ms; {@link startTime} and {@link endTime} say the same. */
  startMs: number;
  endMs = 0;
  ended = false;
  droppedAttributesCount = 0;
  droppedEventsCount = 0;
  droppedLinksCount = 0;
  /** The service gave it a name of its own. */
  renamed = false;
  readonly root: RootRecord;
  [kRoot]: RootRecord;
  [kStartMs]: number;
  #context: SpanContext | undefined = undefined;
  readonly #origin: SpanOrigin;
  readonly #onEnd: (span: RecordedSpan) => void;
  #attributeCount = 0;
  /** Times that were given from outside. */
  #startTime: HrTime | undefined = undefined;
  #endTime: HrTime | undefined = undefined;

  /** @param root the request it belongs to; undefined for the first span of one. */
  constructor(
    identity: SpanIdentity,
    parent: SpanIdentity | undefined,
    name: string,
    kind: SpanKind,
    startMs: number,
    root: RootRecord | undefined,
    origin: SpanOrigin,
    onEnd: (span: RecordedSpan) => void,
    links: Link[] = NO_LINKS,
  ) {
    this.identity = identity;
    this.parent = parent;
    this.name = name;
    this.kind = kind;
    this.links = links;
    this.startMs = startMs;
    this.#origin = origin;
    this.#onEnd = onEnd;
    this.root = root ?? new RootRecord(this, startMs, loopIdleMs());
    this[kRoot] = this.root;
    this[kStartMs] = startMs;
  }

  get resource(): object {
    return this.#origin.resource;
  }

  get instrumentationScope(): { name: string; version?: string } {
    return this.#origin.instrumentationScope;
  }

  /** Whether a time was given from outside: then it is not in {@link startMs} and {@link endMs}. */
  get hasOwnTimes(): boolean {
    return this.#startTime !== undefined || this.#endTime !== undefined;
  }

  get startTime(): HrTime {
    return this.#startTime ?? this.root.anchor.toHrTime(this.startMs);
  }

  set startTime(time: HrTime) {
    this.#startTime = time;
  }

  get endTime(): HrTime {
    return this.#endTime ?? this.root.anchor.toHrTime(this.endMs);
  }

  /** @returns everything the span says, as a new object. */
  get attributes(): Attributes {
    const object = new AttributeObject();
    this.writeAttributes(object);
    return Object.assign(object.attributes, this.ownAttributes);
  }

  /** A name that {@link writeAttributes} writes too. */
  get fixedName(): string | undefined {
    return this.ownAttributes === undefined ? this.details?.fixedName : undefined;
  }

  /** What it says beside {@link ownAttributes}. */
  writeAttributes(sink: AttributeSink): void {
    if (this.details !== undefined) this.details.writeAttributes(sink, this.ownAttributes);
    if (this.root.span === this) this.root.writeAttributes(sink);
  }

  get parentSpanContext(): SpanContext | undefined {
    return this.parent;
  }

  spanContext(): SpanContext {
    this.#context ??= this.identity.plain();
    return this.#context;
  }

  isRecording(): boolean {
    return !this.ended;
  }

  setAttribute(key: string, value: AttributeValue): this {
    if (this.ended || value === undefined || value === null || key === '') return this;
    if (this.ownAttributes === undefined) this.ownAttributes = {};
    if (!(key in this.ownAttributes) && ++this.#attributeCount > MAX_ATTRIBUTES)
      this.droppedAttributesCount++;
    else this.ownAttributes[key] = value;
    return this;
  }

  setAttributes(attributes: Attributes): this {
    for (const key of Object.keys(attributes)) this.setAttribute(key, attributes[key] as AttributeValue);
    return this;
  }

  addEvent(name: string, attributesOrTime?: Attributes | TimeInput, time?: TimeInput): this {
    if (this.ended) return this;
    if (this.events.length >= MAX_EVENTS) {
      this.droppedEventsCount++;
      return this;
    }
    const isTime = isTimeInput(attributesOrTime);
    const at = this.#time(isTime ? (attributesOrTime as TimeInput) : time);
    const attributes = isTime ? undefined : (attributesOrTime as Attributes | undefined);
    if (this.events === NO_EVENTS) this.events = [];
    this.events.push({ name, time: at, attributes });
    return this;
  }

  addLink(link: Link): this {
    if (this.ended) return this;
    if (this.links.length >= MAX_LINKS) this.droppedLinksCount++;
    else this.links = [...this.links, link];
    return this;
  }

  addLinks(links: Link[]): this {
    for (const link of links) this.addLink(link);
    return this;
  }

  setStatus(status: SpanStatus): this {
    if (this.ended || status.code === SpanStatusCode.UNSET || this.status.code === SpanStatusCode.OK)
      return this;
    this.status = status.code === SpanStatusCode.ERROR ? { ...status } : { code: status.code };
    return this;
  }

  updateName(name: string): this {
    if (this.ended) return this;
    this.name = name;
    this.renamed = true;
    return this;
  }

  recordException(exception: Exception, time?: TimeInput): void {
    const error = typeof exception === 'string' ? { message: exception } : exception;
    this.addEvent(
      'exception',
      {
        'exception.type': String(error.code ?? error.name ?? ''),
        'exception.message': error.message ?? '',
        'exception.stacktrace': error.stack ?? '',
      },
      time,
    );
  }

  end(endTime?: TimeInput): void {
    if (this.ended) return;
    this.endMs = now();
    if (endTime !== undefined) this.#endTime = toHrTime(endTime, this.root);
    if (this.hasOwnTimes && isBefore(this.endTime, this.startTime)) this.#endTime = this.startTime;
    this.ended = true;
    this.#onEnd(this);
  }

  get duration(): HrTime {
    const seconds = this.endTime[0] - this.startTime[0];
    const nanos = this.endTime[1] - this.startTime[1];
    return nanos >= 0 ? [seconds, nanos] : [seconds - 1, nanos + 1e9];
  }

  #time(time: TimeInput | undefined): HrTime {
    return time === undefined ? this.root.anchor.toHrTime(now()) : toHrTime(time, this.root);
  }
}

function isBefore(a: HrTime, b: HrTime): boolean {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}

const NO_EVENTS: SpanEvent[] = [];
const NO_LINKS: Link[] = [];

function isTimeInput(value: unknown): value is TimeInput {
  return typeof value === 'number' || value instanceof Date || Array.isArray(value);
}

/** Numbers up to the monotonic clock are readings of it, larger ones are epoch ms; as in the API's contract. */
export function toHrTime(time: TimeInput, root: RootRecord): HrTime {
  if (Array.isArray(time)) return time;
  const ms = time instanceof Date ? time.getTime() : time;
  if (ms <= now()) return root.anchor.toHrTime(ms);
  const seconds = Math.floor(ms / 1e3);
  return [seconds, Math.round((ms - seconds * 1e3) * 1e6)];
}
