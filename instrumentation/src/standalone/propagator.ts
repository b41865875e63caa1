import {
  type BaggageEntry,
  baggageEntryMetadataFromString,
  type Context,
  createTraceState,
  isSpanContextValid,
  propagation,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { SpanIdentity } from '../core/span-id.ts';

const TRACEPARENT = 'traceparent';
const TRACESTATE = 'tracestate';
const BAGGAGE = 'baggage';
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
    const result =
      parent === undefined ? context : trace.setSpanContext(context, { ...parent.plain(), isRemote: true });
    const baggage = list(getter.get(carrier, BAGGAGE));
    return baggage === undefined ? result : withBaggage(result, baggage);
  }
}

/**
 * @returns what `traceparent` and `tracestate` say, or undefined where they say nothing valid.
 * https://www.w3.org/TR/trace-context/#traceparent-header; a later version may append fields.
 */
export function parentOf(
  traceparent: string | undefined,
  tracestate: string | string[] | undefined,
): SpanIdentity | undefined {
  if (traceparent === undefined) return undefined;
  const { length } = traceparent;
  if (length < LENGTH || !isDash(traceparent, 2) || !isDash(traceparent, 35) || !isDash(traceparent, 52))
    return undefined;
  isValid = true;
  const version = lowerHexByte(traceparent, 0);
  const trace0 = lowerHexWord(traceparent, 3);
  const trace1 = lowerHexWord(traceparent, 11);
  const trace2 = lowerHexWord(traceparent, 19);
  const trace3 = lowerHexWord(traceparent, 27);
  const high = lowerHexWord(traceparent, 36);
  const low = lowerHexWord(traceparent, 44);
  const sampled = lowerHexByte(traceparent, 53) & TraceFlags.SAMPLED;
  if (!isValid || version === 0xff) return undefined;
  if (length > LENGTH && (version === 0 || !isDash(traceparent, LENGTH))) return undefined;
  if ((trace0 | trace1 | trace2 | trace3) === 0 || (high | low) === 0) return undefined;
  const state = tracestate === undefined ? undefined : createTraceState(list(tracestate));
  return new SpanIdentity(trace0, trace1, trace2, trace3, high, low, sampled, state, true);
}

/** Of a `traceparent` without more fields. */
const LENGTH = 55;
/** Value of a hex digit by character code, upper case excluded; -1 for everything else. */
const LOWER_HEX = new Int8Array(128).fill(-1);
for (let value = 0; value < 16; value++) LOWER_HEX[value.toString(16).charCodeAt(0)] = value;

/** Cleared by {@link lowerHexWord} and {@link lowerHexByte}. */
let isValid = true;

/** @returns the number of eight lower-case hex digits, as a signed 32-bit integer. */
function lowerHexWord(text: string, at: number): number {
  const high = lowerHexHalf(text, at);
  return (high << 16) | lowerHexHalf(text, at + 4);
}

/** Without a loop: this runs six times for every request. */
function lowerHexHalf(text: string, at: number): number {
  const code0 = text.charCodeAt(at);
  const code1 = text.charCodeAt(at + 1);
  const code2 = text.charCodeAt(at + 2);
  const code3 = text.charCodeAt(at + 3);
  const digit0 = LOWER_HEX[code0 & 0x7f];
  const digit1 = LOWER_HEX[code1 & 0x7f];
  const digit2 = LOWER_HEX[code2 & 0x7f];
  const digit3 = LOWER_HEX[code3 & 0x7f];
  if ((code0 | code1 | code2 | code3) > 0x7f || (digit0 | digit1 | digit2 | digit3) < 0) isValid = false;
  return (digit0 << 12) | (digit1 << 8) | (digit2 << 4) | digit3;
}

function lowerHexByte(text: string, at: number): number {
  const code0 = text.charCodeAt(at);
  const code1 = text.charCodeAt(at + 1);
  const digit0 = LOWER_HEX[code0 & 0x7f];
  const digit1 = LOWER_HEX[code1 & 0x7f];
  if ((code0 | code1) > 0x7f || (digit0 | digit1) < 0) isValid = false;
  return (digit0 << 4) | digit1;
}

function isDash(text: string, at: number): boolean {
  return text.charCodeAt(at) === 0x2d;
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
