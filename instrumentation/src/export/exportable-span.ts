import type { Attributes, HrTime, Link, SpanContext, SpanStatus } from '@opentelemetry/api';

/** The part of the SDK's ReadableSpan that an export holds. */
export interface ExportableSpan {
  name: string;
  kind: number;
  spanContext(): SpanContext;
  parentSpanContext?: SpanContext;
  startTime: HrTime;
  endTime: HrTime;
  status: SpanStatus;
  attributes: Attributes;
  links: Link[];
  events: SpanEvent[];
  resource: { attributes: Attributes };
  instrumentationScope: Scope;
  droppedAttributesCount: number;
  droppedEventsCount: number;
  droppedLinksCount: number;
}

export interface SpanEvent {
  name: string;
  time: HrTime;
  attributes?: Attributes;
}

export interface Scope {
  name: string;
  version?: string;
}
