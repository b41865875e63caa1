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
  events: { name: string; time: HrTime; attributes?: Attributes }[];
  resource: { attributes: Attributes };
  instrumentationScope: { name: string; version?: string };
  droppedAttributesCount: number;
  droppedEventsCount: number;
  droppedLinksCount: number;
}

type Scope = ExportableSpan['instrumentationScope'];

interface ResourceGroup {
  readonly resource: ExportableSpan['resource'];
  readonly scopes: Map<Scope, ExportableSpan[]>;
}

/** @returns the spans by resource and instrumentation scope, as an export request holds them. */
export function groupSpans(spans: readonly ExportableSpan[]): ResourceGroup[] {
  const groups = new Map<ExportableSpan['resource'], ResourceGroup>();
  for (const span of spans) {
    let group = groups.get(span.resource);
    if (group === undefined) {
      group = { resource: span.resource, scopes: new Map() };
      groups.set(span.resource, group);
    }
    const list = group.scopes.get(span.instrumentationScope);
    if (list === undefined) group.scopes.set(span.instrumentationScope, [span]);
    else list.push(span);
  }
  return [...groups.values()];
}
