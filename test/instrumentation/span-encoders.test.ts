import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Attributes, SpanKind } from '@opentelemetry/api';
import fc from 'fast-check';
import { ClockAnchor } from '../../instrumentation/src/core/clock.ts';
import { FinishedSpan } from '../../instrumentation/src/core/finished-span.ts';
import { Fragment } from '../../instrumentation/src/core/fragment.ts';
import type { ExportableSpan } from '../../instrumentation/src/export/exportable-span.ts';
import { JsonEncoder } from '../../instrumentation/src/export/otlp-json.ts';
import { ProtobufEncoder } from '../../instrumentation/src/export/otlp-protobuf.ts';
import { decodeRequest } from './support/otlp-decode.ts';

const resource = { attributes: { 'service.name': 'encoders' } };
const scope = { name: 'test', version: '1' };

const value = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary-ascii', maxLength: 300 }),
  fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.array(fc.string()),
  fc.array(fc.integer({ min: 0 })),
);
const attributes: fc.Arbitrary<Attributes> = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 150, unit: 'grapheme' }).filter((key) => key !== '__proto__'),
  value,
);
const nanos = fc.integer({ min: 0, max: 999_999_999 });

function spanOf(
  name: string,
  all: Attributes,
  start: [number, number],
  end: [number, number],
): ExportableSpan {
  return {
    name,
    kind: 2,
    spanContext: () => ({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      traceFlags: 1,
    }),
    parentSpanContext: {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: '00f067aa0ba902b7',
      traceFlags: 1,
      isRemote: true,
    },
    startTime: start,
    endTime: end,
    status: { code: 2, message: name },
    attributes: all,
    links: [{ context: { traceId: 'f'.repeat(32), spanId: 'e'.repeat(16), traceFlags: 1 }, attributes: all }],
    events: [{ name, time: end, attributes: all }],
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** What JSON's strings and a decoder's numbers have in common. */
function plain(list: { key: string; value: Record<string, unknown> }[]): Record<string, unknown> {
  const one = (any: Record<string, unknown>): unknown => {
    const [[kind, held]] = Object.entries(any);
    if (kind !== 'arrayValue') return kind === 'doubleValue' ? Number(held) : held;
    return (held as { values: Record<string, unknown>[] }).values.map(one);
  };
  return Object.fromEntries(list.map((pair) => [pair.key, one(pair.value)]));
}

function comparable(all: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(all).map(([key, held]) => [
      key,
      JSON.stringify(held, (_, v) => (v === Object(v) ? v : String(v))),
    ]),
  );
}

test('both encoders say the same, and an independent decoder reads it', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, unit: 'grapheme' }),
      attributes,
      nanos,
      nanos,
      (name, all, a, b) => {
        const span = spanOf(name, all, [1_796_000_000, a], [4_102_444_800, b]);
        const protobuf = new ProtobufEncoder();
        const json = new JsonEncoder();
        protobuf.add(span);
        json.add(span);
        const [decoded] = decodeRequest(protobuf.take()!);
        const line = JSON.parse(String(json.take()));
        const [written] = line.resourceSpans[0].scopeSpans[0].spans;
        for (const key of ['traceId', 'spanId', 'parentSpanId', 'name', 'kind', 'flags'] as const)
          assert.equal(String(decoded[key]), String(written[key]), key);
        assert.equal(decoded.startTimeUnixNano, `1796000000${String(a).padStart(9, '0')}`);
        assert.equal(written.startTimeUnixNano, decoded.startTimeUnixNano);
        assert.equal(written.endTimeUnixNano, decoded.endTimeUnixNano);
        assert.deepEqual(comparable(decoded.attributes), comparable(plain(written.attributes)));
        assert.deepEqual(Object.keys(decoded.attributes).sort(), Object.keys(all).sort());
        assert.deepEqual(
          comparable(decoded.events[0].attributes),
          comparable(plain(written.events[0].attributes)),
        );
        assert.deepEqual(
          comparable(decoded.links[0].attributes),
          comparable(plain(written.links[0].attributes)),
        );
        assert.equal(decoded.resource['service.name'], 'encoders');
      },
    ),
    { numRuns: 300 },
  );
});

test('a finished span of ours: the short way and the long way say the same', () => {
  const anchor = new ClockAnchor(1_796_000_000_123.456);
  const parent = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: '00f067aa0ba902b7', traceFlags: 1 };
  const times = fc.double({ min: 0, max: 4e9, noNaN: true });
  fc.assert(
    fc.property(times, times, fc.nat(2 ** 40), attributes, fc.boolean(), (a, b, holdNs, rest, named) => {
      const fixed = new Fragment({ 'waitfall.segment': 'pool_wait' }, 'wait_for x');
      const name = named ? 'wait_for x' : 'other';
      const span = new FinishedSpan(parent, name, SpanKind.INTERNAL, anchor, a, b, true, fixed);
      span.holdNs = holdNs;
      span.queueDepth = 3;
      span.rest = rest;
      span.context = { ...parent, spanId: 'b7ad6b7169203331' };
      const protobuf = new ProtobufEncoder();
      protobuf.addFinished(span, { resource, instrumentationScope: scope });
      const [decoded] = decodeRequest(protobuf.take()!);
      assert.equal(decoded.name, name);
      assert.equal(decoded.traceId, parent.traceId);
      assert.equal(decoded.spanId, 'b7ad6b7169203331');
      assert.equal(decoded.parentSpanId, parent.spanId);
      assert.equal(decoded.startTimeUnixNano, anchor.toUnixNano(a));
      assert.equal(decoded.endTimeUnixNano, anchor.toUnixNano(b));
      assert.equal(decoded.status?.code, 2);
      const { attributes: said } = decoded;
      assert.deepEqual(comparable(said), comparable(span.attributes() as Record<string, unknown>));
    }),
    { numRuns: 300 },
  );
});

test('a span that cannot be encoded leaves nothing behind', () => {
  for (const encoder of [new ProtobufEncoder(), new JsonEncoder()]) {
    encoder.add(spanOf('first', {}, [1, 0], [2, 0]));
    const broken = spanOf('broken', { list: [1n] as unknown as number[] }, [1, 0], [2, 0]);
    Object.defineProperty(broken, 'links', {
      get() {
        throw new Error('no links');
      },
    });
    assert.throws(() => encoder.add(broken));
    encoder.add(spanOf('second', {}, [1, 0], [2, 0]));
    const bytes = encoder.take()!;
    const names =
      encoder instanceof ProtobufEncoder
        ? decodeRequest(bytes).map((span) => span.name)
        : JSON.parse(String(bytes)).resourceSpans[0].scopeSpans[0].spans.map(
            (span: { name: string }) => span.name,
          );
    assert.deepEqual(names, ['first', 'second']);
    assert.equal(encoder.take(), undefined);
  }
});
