import type { Attributes } from './attributes.ts';

/** OTLP SpanKind by number. */
export const KIND = { unspecified: 0, internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const;

/** OTLP Status.StatusCode by number. */
export const STATUS = { unset: 0, ok: 1, error: 2 } as const;

export interface SpanLink {
  /** Canonical ids, as {@link SpanRecord} has them. */
  readonly traceId: string;
  readonly spanId: string;
  readonly traceState: string;
  readonly attributes: Attributes;
}

export interface SpanEvent {
  /** Epoch ns, null when the input has none. */
  readonly timeUnixNano: bigint | null;
  readonly name: string;
  readonly attributes: Attributes;
}

/** Who emitted a span: the OTLP Resource, with the attributes the analysis asks for most made explicit. */
export interface Resource {
  /** `service.name`, or `unknown_service` where the input has none. */
  readonly service: string;
  /** `service.instance.id`, else host and pid joined, else the empty text: which process of that service. */
  readonly instance: string;
  /** True when the instance comes from `service.instance.id` itself (clock-skew repair compares only those). */
  readonly hasInstanceId: boolean;
  readonly attributes: Attributes;
}

export interface Scope {
  readonly name: string;
  readonly version: string;
}

/**
 * One span as a reader hands it over, format-free.
 *
 * Ids are canonical text: lower-case hex of full width (32 and 16 digits, shorter ones left-padded with zeros),
 * or an opaque text where the input's id is neither hex nor base64. A reader never hands over an empty id.
 */
export interface SpanRecord {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a true root (absent, empty or all-zero in the input). */
  readonly parentSpanId: string;
  /** The parent is known only from a FOLLOWS_FROM reference: it caused the span but never waited for it. */
  readonly followsFrom: boolean;
  /** Zipkin `shared`: the server half of a client/server pair with one id. */
  readonly shared: boolean;
  readonly name: string;
  /** {@link KIND}; 0 when absent or unknown. */
  readonly kind: number;
  /** Epoch ns; null when absent, unreadable, negative or after 2106. */
  readonly startUnixNano: bigint | null;
  readonly endUnixNano: bigint | null;
  /** {@link STATUS}; 0 when absent or unknown. */
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly traceState: string;
  /** Index returned by {@link SpanTableBuilder.resource}. */
  readonly resource: number;
  /** Index returned by {@link SpanTableBuilder.scope}. */
  readonly scope: number;
  readonly attributes: Attributes;
  readonly links: readonly SpanLink[];
  readonly events: readonly SpanEvent[];
}
