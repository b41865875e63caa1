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
import type { SpanOrigin } from '../core/lazy-span.ts';
import type { RootRecord } from '../core/root.ts';

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

/** A span recorded without the SDK: what the OpenTelemetry API lets a service do with it, and what exporters read. */
export class RecordedSpan implements Span {
  name: string;
  readonly kind: SpanKind;
  readonly parentSpanContext: SpanContext | undefined;
  readonly attributes: Attributes = {};
  links: Link[];
  events: SpanEvent[] = NO_EVENTS;
  status: SpanStatus = UNSET;
  startTime: HrTime;
  endTime: HrTime = [0, 0];
  ended = false;
  droppedAttributesCount = 0;
  droppedEventsCount = 0;
  droppedLinksCount = 0;
  /** The service gave it a name of its own. */
  renamed = false;
  readonly root: RootRecord;
  readonly #context: SpanContext;
  readonly #origin: SpanOrigin;
  readonly #onEnd: (span: RecordedSpan) => void;
  #attributeCount = 0;

  constructor(
    context: SpanContext,
    parent: SpanContext | undefined,
    name: string,
    kind: SpanKind,
    links: Link[] | undefined,
    startTime: HrTime,
    makeRoot: (span: Span) => RootRecord,
    origin: SpanOrigin,
    onEnd: (span: RecordedSpan) => void,
  ) {
    this.#context = context;
    this.parentSpanContext = parent;
    this.name = name;
    this.kind = kind;
    this.links = links ?? NO_LINKS;
    this.startTime = startTime;
    this.#origin = origin;
    this.#onEnd = onEnd;
    this.root = makeRoot(this);
  }

  get resource(): object {
    return this.#origin.resource;
  }

  get instrumentationScope(): { name: string; version?: string } {
    return this.#origin.instrumentationScope;
  }

  spanContext(): SpanContext {
    return this.#context;
  }

  isRecording(): boolean {
    return !this.ended;
  }

  setAttribute(key: string, value: AttributeValue): this {
    if (this.ended || value === undefined || value === null || key === '') return this;
    if (!(key in this.attributes) && ++this.#attributeCount > MAX_ATTRIBUTES) this.droppedAttributesCount++;
    else this.attributes[key] = value;
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
    this.endTime = this.#time(endTime);
    const [seconds, nanos] = this.startTime;
    if (this.endTime[0] < seconds || (this.endTime[0] === seconds && this.endTime[1] < nanos))
      this.endTime = this.startTime;
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
