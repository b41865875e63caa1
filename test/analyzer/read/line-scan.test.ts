import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpanTableBuilder } from '../../../analyzer/src/model/span-table-builder.ts';
import { PADDING } from '../../../analyzer/src/read/line-buffer.ts';
import { OtlpLineScanner } from '../../../analyzer/src/read/otlp-line-scan.ts';
import { dumpAccount, dumpSpans } from './dump.ts';
import { RICH_ENCODINGS } from './encodings.ts';
import { readBytes, seeded } from './reading.ts';

/** Lines the scanner reads itself, without the slow path. */
function scans(line: string): boolean {
  const content = Buffer.from(line);
  const buffer = Buffer.concat([content, Buffer.alloc(PADDING, '\n')]);
  return new OtlpLineScanner(new SpanTableBuilder()).scan(buffer, 0, content.length);
}

/** The slow path is the oracle: same table, same account. @returns spans read. */
async function sameAsSlow(content: string | Buffer, what: string): Promise<number> {
  const slow = await readBytes(content, 1 << 16, { parser: 'slow' });
  const fast = await readBytes(content, 1 << 16);
  assert.equal(dumpSpans(fast.table), dumpSpans(slow.table), what);
  assert.equal(dumpAccount(fast), dumpAccount(slow), what);
  assert.deepEqual(fast.table.traceIds, slow.table.traceIds, what);
  return slow.table.length;
}

const SPAN = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: '00f067aa0ba902b7',
  parentSpanId: '00f067aa0ba902b8',
  name: 'GET /x',
  kind: 2,
  startTimeUnixNano: '1750000000000000001',
  endTimeUnixNano: '1750000000000000101',
  attributes: [
    { key: 'text', value: { stringValue: 'plain' } },
    { key: 'int', value: { intValue: '42' } },
    { key: 'double', value: { doubleValue: 0.5 } },
    { key: 'flag', value: { boolValue: true } },
  ],
  status: {},
};

function request(span: object, resource: object = { attributes: [] }): string {
  return JSON.stringify({
    resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 's' }, spans: [span] }] }],
  });
}

function withAttribute(value: unknown): string {
  return request({ ...SPAN, attributes: [{ key: 'k', value }] });
}

const KNOWN: Readonly<Record<string, string>> = {
  'a plain span': request(SPAN),
  'keys in reverse order': request(Object.fromEntries(Object.entries(SPAN).reverse())),
  'an empty parent': request({ ...SPAN, parentSpanId: '' }),
  'a zero parent': request({ ...SPAN, parentSpanId: '0000000000000000' }),
  'upper-case ids': request({
    ...SPAN,
    traceId: SPAN.traceId.toUpperCase(),
    spanId: SPAN.spanId.toUpperCase(),
  }),
  'no optional field': request({
    ...SPAN,
    parentSpanId: undefined,
    name: undefined,
    kind: undefined,
    attributes: undefined,
    status: undefined,
  }),
  'bare times': request(SPAN).replace(/"(\d{19})"/g, '$1'),
  'escapes and other alphabets': request({
    ...SPAN,
    name: 'a"\\/\b\f\n\r\tä日𝄞\u2028',
    traceState: 'ot=th:8',
    attributes: [{ key: 'q"', value: { stringValue: '\\' } }],
  }),
  'escaped by number': request(SPAN).replace('GET /x', '\\u0047\\ud834\\udd1e'),
  'unknown fields': request({
    ...SPAN,
    flags: 257,
    droppedAttributesCount: 0,
    future: { a: [1, { b: null }], c: '}]"' },
    more: 'x"y',
  }),
  'links and events': request({
    ...SPAN,
    links: [{ traceId: SPAN.traceId, spanId: SPAN.spanId }],
    events: [{ timeUnixNano: '1750000000000000002', name: 'e' }],
  }),
  'empty lists': request({ ...SPAN, links: [], events: [], attributes: [] }),
  'a status': request({ ...SPAN, status: { code: 2, message: 'no "way"' } }),
  'a named status': request({ ...SPAN, status: { code: 'STATUS_CODE_ERROR' } }),
  'a Resource behind its spans': `{"resourceSpans":[{"scopeSpans":[{"spans":[${JSON.stringify(SPAN)}],"scope":{"name":"late","version":"2"}}],"schemaUrl":"","resource":{"attributes":[{"key":"service.name","value":{"stringValue":"late"}}]}}]}`,
  'no Resource and no scope': `{"resourceSpans":[{"scopeSpans":[{"spans":[${JSON.stringify(SPAN)}]}]}]}`,
  'no spans': '{"resourceSpans":[{"scopeSpans":[{"spans":[]},{}]},{}]}',
  'another member': `{"partialSuccess":{},${request(SPAN).slice(1)}`,
  'an integer': withAttribute({ intValue: '-7' }),
  'a bare integer': withAttribute({ intValue: 7 }),
  'a large integer': withAttribute({ intValue: '9007199254740993' }),
  'an integer with leading zeros': withAttribute({ intValue: '007' }),
  'minus zero': withAttribute({ intValue: '-0' }),
  'a double': withAttribute({ doubleValue: -1.5e-7 }),
  'a named double': withAttribute({ doubleValue: 'NaN' }),
  'a false': withAttribute({ boolValue: false }),
  'a list': withAttribute({ arrayValue: { values: [{ stringValue: 'a' }, {}] } }),
  'a map': withAttribute({ kvlistValue: { values: [{ key: 'a', value: { intValue: '1' } }] } }),
  bytes: withAttribute({ bytesValue: 'AAEC' }),
  'no value': withAttribute({}),
  'a null text': withAttribute({ stringValue: null }),
  'two values in one': withAttribute({ stringValue: 'a', intValue: '1' }),
};

const UNKNOWN: Readonly<Record<string, string>> = {
  'white space': JSON.stringify(JSON.parse(request(SPAN)), null, 1).replaceAll('\n', ' '),
  'proto names': request(SPAN).replace('parentSpanId', 'parent_span_id'),
  'base64 ids': request({ ...SPAN, traceId: 'CvdlGRbNQ92ESOshHIAxnA==', spanId: 'APBnqgupArc=' }),
  'short ids': request({ ...SPAN, spanId: 'a' }),
  'a zero id': request({ ...SPAN, spanId: '0000000000000000' }),
  'no id': request({ ...SPAN, traceId: undefined }),
  'a named kind': request({ ...SPAN, kind: 'SPAN_KIND_CLIENT' }),
  'an unknown kind': request({ ...SPAN, kind: 99 }),
  'a short time': request({ ...SPAN, startTimeUnixNano: '12' }),
  'no time': request({ ...SPAN, endTimeUnixNano: undefined }),
  'a time after 2106': request({ ...SPAN, endTimeUnixNano: '5000000000000000000' }),
  'a field twice': request(SPAN).replace('"kind":2', '"kind":2,"kind":3'),
  'spans under the old name too': request(SPAN).replace(
    '"scopeSpans"',
    '"instrumentationLibrarySpans":[],"scopeSpans"',
  ),
  'logs beside spans': request(SPAN).replace('{"resourceSpans"', '{"resourceLogs":[],"resourceSpans"'),
  'a null among the spans': request(SPAN).replace('"spans":[', '"spans":[null,'),
  'a value before its key': request({ ...SPAN, attributes: [{ value: { stringValue: 'v' }, key: 'k' }] }),
  'a broken escape': request(SPAN).replace('GET /x', '\\x'),
  'a raw control character': request(SPAN).replace('GET /x', 'a\tb'),
  'something behind it': `${request(SPAN)}x`,
  'another value behind it': `${request(SPAN)}${request(SPAN)}`,
  'no spans at all': '{"a":1}',
};

for (const [known, cases] of [
  [true, KNOWN],
  [false, UNKNOWN],
] as const) {
  for (const [name, line] of Object.entries(cases)) {
    test(`${name}: ${known ? 'scanned' : 'left to the slow path'}, the same table`, async () => {
      assert.equal(scans(line), known);
      await sameAsSlow(line, name);
      await sameAsSlow(`${request(SPAN)}\n${line}\r\n${request(SPAN)}\n`, `${name} between others`);
    });
  }
}

test('what a line begun leaves behind is gone when it is given up', async () => {
  const half = request(SPAN, {
    attributes: [{ key: 'service.name', value: { stringValue: 'ghost' } }],
  }).replace('"kind":2', '"kind":2x');
  const input = await readBytes(`${half}\n${request(SPAN)}`);
  assert.deepEqual(
    input.table.resources.map(({ service }) => service),
    ['unknown_service'],
  );
  assert.equal(input.table.length, 1);
});

test('seeded: bytes of lines changed, moved, dropped and cut', async () => {
  const content = Buffer.from(`${RICH_ENCODINGS['json lines']}${Object.values(KNOWN).join('\n')}\n`);
  const random = seeded(20_26);
  const at = () => Math.floor(random() * content.length);
  let spans = 0;
  for (let round = 0; round < 400; round++) {
    const mutated = Buffer.from(content);
    for (let i = Math.floor(random() * 6); i >= 0; i--) {
      const byte = INTERESTING[Math.floor(random() * INTERESTING.length)];
      mutated[at()] = random() < 0.5 ? byte.charCodeAt(0) : Math.floor(random() * 256);
    }
    const cut = random() < 0.2 ? mutated.subarray(0, at()) : mutated;
    spans += await sameAsSlow(cut, `round ${round}`);
  }
  assert.ok(spans > 5000, `${spans} spans compared`);
});

const INTERESTING = '"\\{}[]:,0e-_ \nnt\u0000';

test('decimals of every length are the numbers JSON.parse makes of them, repeated values included', async () => {
  const random = seeded(3);
  const spans = Array.from({ length: 600 }, (_, i) => {
    const digits = Math.floor(random() * 8);
    const plain = (random() * 10 ** Math.floor(random() * 9)).toFixed(digits);
    const double = i % 3 === 0 ? (i % 2 ? '0.1' : '-0.0') : i % 7 === 0 ? String(random()) : plain;
    return JSON.stringify({
      ...SPAN,
      spanId: (i + 1).toString(16).padStart(16, '0'),
      attributes: [
        { key: 'double', value: { doubleValue: 'here' } },
        { key: 'text', value: { stringValue: `${'long '.repeat(Math.floor(i / 4) % 60)}x` } },
        { key: 'flag', value: { boolValue: i % 5 === 0 } },
      ],
    }).replace('"here"', double);
  });
  const lines = spans.map((span) => `{"resourceSpans":[{"scopeSpans":[{"spans":[${span}]}]}]}`);
  await sameAsSlow(lines.join('\n'), 'one span a line');
  assert.ok(lines.every(scans));
});

test('a line cut at every byte gives what the slow path gives', async () => {
  const line = request(SPAN);
  for (let length = 0; length <= line.length; length++) {
    await sameAsSlow(`${line.slice(0, length)}\n${line}`, `cut at ${length}`);
  }
});
