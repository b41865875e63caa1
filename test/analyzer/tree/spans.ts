import type { AttributeValue } from '../../../analyzer/src/model/attributes.ts';
import { KIND, STATUS } from '../../../analyzer/src/model/span.ts';
import { type SpanTable, SpanTableBuilder } from '../../../analyzer/src/model/span-table.ts';

/** 2025-10-09, beyond 2^53 ns on purpose. */
export const BASE = 1_760_000_000_000_000_000n;

/** A span of a test: times in ns after {@link BASE}, or epoch ns where they are bigint; the rest has defaults. */
export interface TestSpan {
  id: string;
  parent?: string;
  start: number | bigint | null;
  end: number | bigint | null;
  trace?: string;
  name?: string;
  kind?: keyof typeof KIND;
  service?: string;
  instance?: string;
  error?: boolean;
  followsFrom?: boolean;
  shared?: boolean;
  attributes?: Record<string, AttributeValue>;
  resource?: Record<string, AttributeValue>;
  scope?: string;
  /** Linked spans as [trace, id]. */
  links?: [string, string][];
}

/** Ids of up to 16 hex digits are padded as a reader would; anything else stays opaque. */
export function testId(id: string): string {
  return /^[0-9a-f]{1,16}$/.test(id) ? id.padStart(16, '0') : id;
}

/** @returns a table of the spans, in the order given; row i is spans[i]. */
export function tableOf(spans: readonly TestSpan[]): SpanTable {
  const builder = new SpanTableBuilder();
  for (const span of spans) {
    const resource = new Map<string, AttributeValue>([['service.name', span.service ?? 'shop']]);
    if (span.instance !== undefined) resource.set('service.instance.id', span.instance);
    for (const [key, value] of Object.entries(span.resource ?? {})) resource.set(key, value);
    builder.add({
      traceId: (span.trace ?? '1').padStart(32, '0'),
      spanId: testId(span.id),
      parentSpanId: span.parent === undefined ? '' : testId(span.parent),
      followsFrom: span.followsFrom ?? false,
      shared: span.shared ?? false,
      name: span.name ?? span.id,
      kind: KIND[span.kind ?? 'internal'],
      startUnixNano: epoch(span.start),
      endUnixNano: epoch(span.end),
      statusCode: span.error ? STATUS.error : STATUS.unset,
      statusMessage: '',
      traceState: '',
      resource: builder.resource(resource),
      scope: builder.scope(span.scope ?? 'test', ''),
      attributes: new Map(Object.entries(span.attributes ?? {})),
      links: (span.links ?? []).map(([trace, id]) => ({
        traceId: trace.padStart(32, '0'),
        spanId: testId(id),
        traceState: '',
        attributes: new Map([['waitfall.link', 'blocked_by']]),
      })),
      events: [],
    });
  }
  return builder.build();
}

function epoch(time: number | bigint | null): bigint | null {
  return typeof time === 'number' ? BASE + BigInt(time) : time;
}
