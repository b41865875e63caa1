import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attributesRead } from '../../../analyzer/src/infer/attributes-read.ts';
import { dumpAccount, dumpSpans } from './dump.ts';
import { PLAIN_ENCODINGS, RICH_ENCODINGS } from './encodings.ts';
import { encodeProto, lengthPrefixed } from './proto-oracle.ts';
import { readBytes, seeded } from './reading.ts';

const keep = attributesRead(undefined, undefined);

/** Reading field by field is the oracle of the scanner: same table, same account. @returns spans read. */
async function sameAsSlow(content: Buffer, what: string): Promise<number> {
  const slow = await readBytes(content, 1 << 16, { parser: 'slow' });
  const fast = await readBytes(content, 1 << 16);
  assert.equal(dumpSpans(fast.table), dumpSpans(slow.table), what);
  assert.equal(dumpAccount(fast), dumpAccount(slow), what);
  const [some, same] = await Promise.all([
    readBytes(content, 1 << 16, { keep }),
    readBytes(content, 1 << 16, { keep, parser: 'slow' }),
  ]);
  assert.deepEqual([...some.table.attributeRest], [...same.table.attributeRest], what);
  return slow.table.length;
}

const SPAN = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: '00f067aa0ba902b7',
  parentSpanId: '00f067aa0ba902b8',
  name: 'GET /x',
  kind: 3,
  startTimeUnixNano: '1750000000000000001',
  endTimeUnixNano: '1750000000000000101',
  flags: 257,
  attributes: [
    { key: 'http.route', value: { stringValue: '/x' } },
    { key: 'text', value: { stringValue: 'ä'.repeat(100) } },
    { key: 'empty', value: { stringValue: '' } },
    { key: 'int', value: { intValue: '42' } },
    { key: 'large', value: { intValue: '281474976710655' } },
    { key: 'larger', value: { intValue: '9007199254740993' } },
    { key: 'negative', value: { intValue: '-7' } },
    { key: 'double', value: { doubleValue: 0.5 } },
    { key: 'flag', value: { boolValue: true } },
    { key: 'off', value: { boolValue: false } },
    { key: 'list', value: { arrayValue: { values: [{ stringValue: 'a' }] } } },
    { key: 'nothing' },
  ],
  status: { code: 2, message: 'no' },
  droppedAttributesCount: 3,
};

const CASES: Readonly<Record<string, object>> = {
  'every kind of value': SPAN,
  'simple values only': { ...SPAN, attributes: SPAN.attributes.slice(0, 5) },
  'a status without a message': { ...SPAN, status: { code: 1 } },
  'no status': { ...SPAN, status: undefined },
  'no parent': { ...SPAN, parentSpanId: '' },
  'a zero parent': { ...SPAN, parentSpanId: '0000000000000000' },
  'no start': { ...SPAN, startTimeUnixNano: undefined },
  'no end': { ...SPAN, endTimeUnixNano: undefined },
  'a short id': { ...SPAN, spanId: '0a' },
  'a zero id': { ...SPAN, spanId: '0000000000000000' },
  'no id': { ...SPAN, traceId: '' },
  'an unknown kind': { ...SPAN, kind: 9 },
  'a time after 2106': { ...SPAN, endTimeUnixNano: '5000000000000000000' },
  'a trace state': { ...SPAN, traceState: 'ot=th:8' },
  'a long name': { ...SPAN, name: 'n'.repeat(20_000) },
  'links and events': {
    ...SPAN,
    links: [{ traceId: SPAN.traceId, spanId: SPAN.spanId }],
    events: [{ timeUnixNano: '1750000000000000002', name: 'e' }],
  },
  'a field from the future': { ...SPAN, fromTheFuture: 'x' },
};

function record(...spans: object[]): Buffer {
  const scopeSpans = [{ scope: { name: 's' }, spans }];
  return lengthPrefixed(encodeProto('TracesData', { resourceSpans: [{ scopeSpans }] }));
}

for (const [name, span] of Object.entries(CASES)) {
  test(`protobuf, ${name}: the same table as field by field`, async () => {
    await sameAsSlow(record(span), name);
    await sameAsSlow(Buffer.concat([record(SPAN, span, SPAN), record(span)]), `${name} between others`);
  });
}

test('seeded: bytes of protobuf changed and cut', async () => {
  const contents = [
    record(...Object.values(CASES)),
    RICH_ENCODINGS['protobuf length-prefixed'],
    RICH_ENCODINGS['protobuf varint-delimited'],
    PLAIN_ENCODINGS['protobuf message'],
  ];
  const random = seeded(20_27);
  let spans = 0;
  for (let round = 0; round < 600; round++) {
    const content = contents[round % contents.length];
    const mutated = Buffer.from(content);
    for (let i = Math.floor(random() * 4); i >= 0; i--) {
      const at = Math.floor(random() * content.length);
      mutated[at] = random() < 0.5 ? INTERESTING[Math.floor(random() * INTERESTING.length)] : random() * 256;
    }
    const cut = random() < 0.2 ? mutated.subarray(0, Math.floor(random() * content.length)) : mutated;
    spans += await sameAsSlow(cut, `round ${round}`);
  }
  assert.ok(spans > 500, `${spans} spans compared`);
});

const INTERESTING = [
  0, 1, 2, 8, 10, 16, 18, 0x1a, 0x22, 0x2a, 0x39, 0x41, 0x4a, 0x7a, 0x7f, 0x80, 0x85, 0xff,
];
