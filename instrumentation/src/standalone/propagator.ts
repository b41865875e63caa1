import {
  type BaggageEntry,
  baggageEntryMetadataFromString,
  type Context,
  createTraceState,
  isSpanContextValid,
  propagation,
  type SpanContext,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
  TraceFlags,
  trace,
} from '@opentelemetry/api';

const TRACEPARENT = 'traceparent';
const TRACESTATE = 'tracestate';
const BAGGAGE = 'baggage';
/** https://www.w3.org/TR/trace-context/#traceparent-header; a later version may append fields. */
const PATTERN = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const MAX_BAGGAGE_BYTES = 8_192;

/** W3C trace context and baggage, in and out. */
export class W3cPropagator implements TextMapPropagator {
  fields(): string[] {
    return [TRACEPARENT, TRACESTATE, BAGGAGE];
  }

  inject(context: Context, carrier: unknown, setter: TextMapSetter): void {
    const span = trace.getSpanContext(context);
    if (span !== undefined && isSpanContextValid(span)) {
      const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0');
      setter.set(carrier, TRACEPARENT, `00-${span.traceId}-${span.spanId}-${flags}`);
      const state = span.traceState?.serialize();
      if (state) setter.set(carrier, TRACESTATE, state);
    }
    const entries = propagation.getBaggage(context)?.getAllEntries() ?? [];
    const pairs = entries.map(([key, entry]) => {
      const metadata = entry.metadata === undefined ? '' : `;${entry.metadata.toString()}`;
      return `${encodeURIComponent(key)}=${encodeURIComponent(entry.value)}${metadata}`;
    });
    const text = pairs.join(',');
    if (text !== '' && text.length <= MAX_BAGGAGE_BYTES) setter.set(carrier, BAGGAGE, text);
  }

  extract(context: Context, carrier: unknown, getter: TextMapGetter): Context {
    const parent = parentOf(first(getter.get(carrier, TRACEPARENT)), list(getter.get(carrier, TRACESTATE)));
    const result = parent === undefined ? context : trace.setSpanContext(context, parent);
    const baggage = list(getter.get(carrier, BAGGAGE));
    return baggage === undefined ? result : withBaggage(result, baggage);
  }
}

/** @returns what `traceparent` and `tracestate` say, or undefined where they say nothing valid. */
export function parentOf(
  traceparent: string | undefined,
  tracestate: string | string[] | undefined,
): SpanContext | undefined {
  if (traceparent === undefined) return undefined;
  const match = PATTERN.exec(traceparent);
  if (match === null || (match[1] === '00' && match[5] !== undefined)) return undefined;
  const state = list(tracestate);
  return {
    traceId: match[2],
    spanId: match[3],
    traceFlags: Number.parseInt(match[4], 16) & TraceFlags.SAMPLED,
    isRemote: true,
    traceState: state === undefined ? undefined : createTraceState(state),
  };
}

function withBaggage(context: Context, header: string): Context {
  const entries: Record<string, BaggageEntry> = {};
  for (const pair of header.split(',')) {
    const [keyValue, ...metadata] = pair.split(';');
    const at = keyValue.indexOf('=');
    if (at <= 0) continue;
    try {
      entries[decodeURIComponent(keyValue.slice(0, at).trim())] = {
        value: decodeURIComponent(keyValue.slice(at + 1).trim()),
        ...(metadata.length > 0 && { metadata: baggageEntryMetadataFromString(metadata.join(';')) }),
      };
    } catch {
      // One entry that is not valid percent-encoding does not cost the others.
    }
  }
  return Object.keys(entries).length === 0
    ? context
    : propagation.setBaggage(context, propagation.createBaggage(entries));
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? (value.length === 1 ? value[0] : undefined) : value;
}

function list(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value;
}
