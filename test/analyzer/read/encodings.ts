import { gzipSync, zstdCompressSync } from 'node:zlib';
import { encodeProto, lengthPrefixed, varintDelimited } from './proto-oracle.ts';
import { PLAIN, RICH, spansOf } from './sample.ts';

type Json = { readonly [key: string]: unknown };

const KIND_NAMES = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'];
const STATUS_NAMES = ['UNSET', 'OK', 'ERROR'];

const request = { resourceSpans: RICH };
const lines = RICH.map((batch) => `${JSON.stringify({ resourceSpans: [batch] })}\n`);
const messages = RICH.map((batch) => encodeProto('TracesData', { resourceSpans: [batch] }));
const whole = encodeProto('TracesData', request);

/** The rich sample in every format that can hold it. */
export const RICH_ENCODINGS: Readonly<Record<string, Buffer>> = {
  'json lines': Buffer.from(lines.join('')),
  'json document': Buffer.from(JSON.stringify(request)),
  'json pretty': Buffer.from(JSON.stringify(request, null, 2)),
  'json pretty, tabs and CRLF': Buffer.from(JSON.stringify(request, null, '\t').replaceAll('\n', '\r\n')),
  'json array of requests': Buffer.from(JSON.stringify(RICH.map((batch) => ({ resourceSpans: [batch] })))),
  'json array, one element a line': Buffer.from(
    `[\n${RICH.map((batch) => JSON.stringify({ resourceSpans: [batch] })).join(',\n')}\n]\n`,
  ),
  'json concatenated': Buffer.from(lines.join('').replaceAll('\n', '')),
  'json concatenated, pretty': Buffer.from(
    RICH.map((batch) => JSON.stringify({ resourceSpans: [batch] }, null, 1)).join('\n'),
  ),
  'json bare ResourceSpans': Buffer.from(RICH.map((batch) => JSON.stringify(batch)).join('\n')),
  'json with BOM, CRLF and blank lines': Buffer.from(`\ufeff\r\n${lines.join('\r\n')}`),
  'json text sequence': Buffer.from(lines.map((line) => `\u001e${line}`).join('')),
  'json proto names, enum names, base64': Buffer.from(JSON.stringify(protoNames(request))),
  'json times as numbers': Buffer.from(JSON.stringify(request).replace(/"(\d{19})"/g, '$1')),
  'json times as halves': Buffer.from(
    JSON.stringify(request).replace(/"(\d{19})"/g, (_all, digits) => {
      const low = BigInt.asIntN(32, BigInt(digits));
      return JSON.stringify({ low: Number(low), high: Number(BigInt(digits) >> 32n), unsigned: true });
    }),
  ),
  'json upper-case ids': Buffer.from(
    JSON.stringify(request, (key, value) => (/Id$/.test(key) ? value.toUpperCase() : value)),
  ),
  'json ids as base64 of hex text': Buffer.from(
    JSON.stringify(request, (key, value) =>
      /Id$/.test(key) ? Buffer.from(value).toString('base64') : value,
    ),
  ),
  'json keys in reverse order': Buffer.from(JSON.stringify(reversed(request))),
  'json old scope keys': Buffer.from(
    JSON.stringify(request)
      .replaceAll('"scopeSpans"', '"instrumentationLibrarySpans"')
      .replaceAll('"scope"', '"instrumentationLibrary"'),
  ),
  'tempo batches': Buffer.from(JSON.stringify({ batches: RICH })),
  'tempo trace': Buffer.from(JSON.stringify({ trace: request })),
  'jaeger v3 result': Buffer.from(JSON.stringify({ result: request })),
  'protobuf message': whole,
  'protobuf messages end to end': Buffer.concat(messages),
  'protobuf length-prefixed': Buffer.concat(messages.map(lengthPrefixed)),
  'protobuf varint-delimited': Buffer.concat(messages.map(varintDelimited)),
  'protobuf zstd by record': Buffer.concat(
    messages.map((message) => lengthPrefixed(zstdCompressSync(message))),
  ),
  'json zstd by record': Buffer.concat(
    lines.map((line) => lengthPrefixed(zstdCompressSync(Buffer.from(line.trim())))),
  ),
  'protobuf old library field': encodeProto('TracesData', {
    resourceSpans: RICH.map(({ resource, scopeSpans }) => ({
      resource,
      instrumentationLibrarySpans: scopeSpans,
    })),
  }),
};

/** The plain sample in every format. */
export const PLAIN_ENCODINGS: Readonly<Record<string, Buffer>> = {
  'json document': Buffer.from(JSON.stringify({ resourceSpans: PLAIN })),
  'protobuf message': encodeProto('TracesData', { resourceSpans: PLAIN }),
  'jaeger api': Buffer.from(JSON.stringify({ data: [jaegerTrace()], total: 0, errors: null })),
  'jaeger api, pretty': Buffer.from(JSON.stringify({ data: [jaegerTrace()] }, null, 2)),
  'jaeger trace': Buffer.from(JSON.stringify(jaegerTrace())),
  'jaeger list of traces': Buffer.from(JSON.stringify([jaegerTrace()])),
  'jaeger list of spans, inline process': Buffer.from(JSON.stringify(jaegerSpans('inline'))),
  'jaeger spans a line': Buffer.from(
    jaegerSpans('inline')
      .map((span) => JSON.stringify(span))
      .join('\n'),
  ),
  'jaeger elasticsearch lines': Buffer.from(
    jaegerSpans('flat')
      .map((span) => JSON.stringify({ _index: 'jaeger-span', _source: span }))
      .join('\n'),
  ),
  'jaeger elasticsearch answer': Buffer.from(
    JSON.stringify({ took: 1, hits: { hits: jaegerSpans('flat').map((span) => ({ _source: span })) } }),
  ),
  'jaeger gRPC model': Buffer.from(JSON.stringify({ result: { spans: jaegerModelSpans() } })),
  'jaeger gRPC model, a chunk a line': Buffer.from(
    jaegerModelSpans()
      .map((span) => JSON.stringify({ result: { spans: [span] } }))
      .join('\n'),
  ),
  'zipkin list': Buffer.from(JSON.stringify(zipkinSpans())),
  'zipkin list of lists': Buffer.from(JSON.stringify([zipkinSpans(), []])),
  'zipkin spans a line': Buffer.from(
    zipkinSpans()
      .map((span) => JSON.stringify(span))
      .join('\n'),
  ),
};

/** Each encoding, plain and compressed in every way. */
export function* compressions(name: string, content: Buffer): Generator<[string, Buffer]> {
  const half = content.length >> 1;
  const parts = [content.subarray(0, half), content.subarray(half)];
  yield [name, content];
  yield [`${name}, gzip`, gzipSync(content)];
  yield [`${name}, gzip members`, Buffer.concat(parts.map((part) => gzipSync(part)))];
  yield [`${name}, zstd`, zstdCompressSync(content)];
  yield [`${name}, zstd frames`, Buffer.concat(parts.map((part) => zstdCompressSync(part)))];
  yield [`${name}, zstd in gzip`, gzipSync(zstdCompressSync(content))];
}

/** The mapping of protojson with proto names: snake_case, enum names, bytes in base64. */
function protoNames(value: unknown, key = ''): unknown {
  if (/Id$/.test(key)) return Buffer.from(value as string, 'hex').toString('base64');
  if (key === 'kind') return `SPAN_KIND_${KIND_NAMES[value as number]}`;
  if (key === 'code') return `STATUS_CODE_${STATUS_NAMES[value as number]}`;
  if (Array.isArray(value)) return value.map((item) => protoNames(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      protoNames(inner, name),
    ]),
  );
}

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, reversed(inner)])
      .reverse(),
  );
}

function micros(unixNano: unknown): number {
  return Number(BigInt(unixNano as string) / 1000n);
}

function attributesOf(span: Json): [string, Json][] {
  return ((span.attributes ?? []) as Json[]).map((entry) => [entry.key as string, entry.value as Json]);
}

function jaegerTrace(): Json {
  const processes = { p1: { serviceName: 'shop', tags: [] }, p2: { serviceName: 'pay', tags: [] } };
  return { traceID: spansOf(PLAIN)[0].span.traceId, spans: jaegerSpans('id'), processes, warnings: null };
}

function jaegerSpans(process: 'id' | 'inline' | 'flat'): Json[] {
  return spansOf(PLAIN).map(({ service, span }) => {
    const tags: Json[] = [
      { key: 'span.kind', type: 'string', value: KIND_NAMES[span.kind].toLowerCase() },
      ...((span.status as Json | undefined)?.code === 2 ? [{ key: 'error', type: 'bool', value: true }] : []),
      ...attributesOf(span).map(([key, value]) =>
        value.intValue === undefined
          ? { key, type: 'string', value: value.stringValue }
          : { key, type: 'int64', value: Number(value.intValue) },
      ),
    ];
    const start = micros(span.startTimeUnixNano);
    const reference = { refType: 'CHILD_OF', traceID: span.traceId, spanID: span.parentSpanId };
    return {
      traceID: span.traceId,
      spanID: span.spanId,
      operationName: span.name,
      references: span.parentSpanId === undefined ? [] : [reference],
      startTime: start,
      duration: micros(span.endTimeUnixNano) - start,
      logs: ((span.events ?? []) as Json[]).map((event) => ({
        timestamp: micros(event.timeUnixNano),
        fields: [{ key: 'event', type: 'string', value: event.name }],
      })),
      ...(process === 'flat'
        ? {
            tag: Object.fromEntries(tags.map((tag) => [(tag.key as string).replaceAll('.', '@'), tag.value])),
          }
        : { tags }),
      ...(process === 'id'
        ? { processID: service === 'shop' ? 'p1' : 'p2' }
        : { process: { serviceName: service, tags: [] } }),
    };
  });
}

function jaegerModelSpans(): Json[] {
  const base64 = (id: unknown) => Buffer.from(id as string, 'hex').toString('base64');
  const timestamp = (us: unknown) => {
    const digits = String(us);
    return `${new Date(Number(digits.slice(0, -6)) * 1000).toISOString().slice(0, 19)}.${digits.slice(-6)}Z`;
  };
  const model = (tag: Json) => {
    if (tag.type === 'bool') return { key: tag.key, vType: 'BOOL', vBool: tag.value };
    return tag.type === 'int64'
      ? { key: tag.key, vType: 'INT64', vInt64: String(tag.value) }
      : { key: tag.key, vStr: tag.value };
  };
  return jaegerSpans('inline').map((span) => ({
    traceId: base64(span.traceID),
    spanId: base64(span.spanID),
    operationName: span.operationName,
    references: (span.references as Json[]).map((reference) => ({
      traceId: base64(reference.traceID),
      spanId: base64(reference.spanID),
    })),
    startTime: timestamp(span.startTime),
    duration: `${(span.duration as number) / 1e6}s`,
    tags: (span.tags as Json[]).map(model),
    logs: (span.logs as Json[]).map((log) => ({
      timestamp: timestamp(log.timestamp),
      fields: (log.fields as Json[]).map(model),
    })),
    process: span.process,
  }));
}

function zipkinSpans(): Json[] {
  return spansOf(PLAIN).map(({ service, span }) => ({
    traceId: span.traceId,
    id: span.spanId,
    parentId: span.parentSpanId,
    name: span.name,
    kind: span.kind === 1 ? undefined : KIND_NAMES[span.kind],
    timestamp: micros(span.startTimeUnixNano),
    duration: micros(span.endTimeUnixNano) - micros(span.startTimeUnixNano),
    localEndpoint: { serviceName: service },
    tags: {
      ...((span.status as Json | undefined)?.code === 2 ? { error: '' } : {}),
      ...Object.fromEntries(
        attributesOf(span).map(([key, value]) => [key, String(value.stringValue ?? value.intValue)]),
      ),
    },
    annotations: ((span.events ?? []) as Json[]).map((event) => ({
      timestamp: micros(event.timeUnixNano),
      value: event.name,
    })),
  }));
}
