import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dumpAccount, dumpSpans } from './dump.ts';
import { readBytes } from './reading.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

/** Lines of the dump, shortened: the trace id left out. */
async function dump(trace: object): Promise<string> {
  return dumpSpans((await readBytes(JSON.stringify(trace))).table)
    .replaceAll(`${TRACE}/`, '')
    .trimEnd();
}

function span(spanID: string, more: object = {}): object {
  return {
    traceID: TRACE,
    spanID,
    operationName: spanID,
    startTime: 1,
    duration: 2,
    processID: 'p',
    ...more,
  };
}

function reference(refType: string, spanID: string, traceID = TRACE): object {
  return { refType, traceID, spanID };
}

async function parentOf(references: readonly object[], more: object = {}): Promise<string> {
  const line = await dump([span('a', { references, ...more })]);
  return line.slice(line.indexOf('<'));
}

const REST = 'unknown_service @ "a" unspecified unset [1000, 3000)';

test('the parent: CHILD_OF before FOLLOWS_FROM, and never a span of another trace', async () => {
  const other = '000000000000000000000000000000ff';
  assert.equal(await parentOf([]), `< - ${REST}`);
  assert.equal(await parentOf([reference('CHILD_OF', 'b')]), `< 000000000000000b ${REST}`);
  assert.equal(await parentOf([], { parentSpanID: 'b' }), `< 000000000000000b ${REST}`);
  assert.equal(await parentOf([reference('FOLLOWS_FROM', 'b')]), `< 000000000000000b ${REST} follows`);
  assert.equal(
    await parentOf([reference('FOLLOWS_FROM', 'b'), reference('CHILD_OF', 'c'), reference('CHILD_OF', 'd')]),
    `< 000000000000000c ${REST} -> 000000000000000d -> 000000000000000b`,
  );
  assert.equal(
    await parentOf([reference('CHILD_OF', 'b', 'ff')]),
    `< - ${REST} -> ${other}/000000000000000b`,
  );
  assert.equal(
    await parentOf([reference('FOLLOWS_FROM', 'b', 'ff')], { parentSpanID: 'c' }),
    `< 000000000000000c ${REST} -> ${other}/000000000000000b`,
  );
});

test('tags keep their types; what OTLP has fields for is taken out', async () => {
  const tags = [
    { key: 'span.kind', type: 'string', value: 'Producer' },
    { key: 'error', type: 'bool', value: 'true' },
    { key: 'otel.status_description', type: 'string', value: 'too late' },
    { key: 'otel.scope.name', value: 'lib' },
    { key: 'otel.library.version', value: '3' },
    { key: 'w3c.tracestate', value: 'ot=th:8' },
    { key: 'int', type: 'int64', value: '9007199254740993' },
    { key: 'float', type: 'float64', value: '0.5' },
    { key: 'flag', type: 'bool', value: false },
    { key: 'blob', type: 'binary', value: 'AAEC' },
    { key: 'digits', type: 'string', value: 7 },
    { key: 'untyped', value: [1, 'a'] },
  ];
  assert.equal(
    await dump([
      span('a', { tags, process: { serviceName: 'shop', tags: [{ key: 'ip', value: '192.0.2.1' }] } }),
    ]),
    '000000000000000a < - shop{ip="192.0.2.1"} lib@3 "a" producer error(too late) [1000, 3000) ' +
      '{blob={"bytes":"AAEC"}, digits="7", flag=false, float=0.5, int="9007199254740993n", untyped=[1,"a"]} state ot=th:8',
  );
});

test('error as a text of its own stays an attribute, false is no error', async () => {
  const status = async (value: unknown) =>
    (await dump([span('a', { tags: [{ key: 'error', value }] })])).replace(/^.*"a" /, '');
  assert.equal(await status('boom'), 'unspecified unset [1000, 3000) {error="boom"}');
  assert.equal(await status(false), 'unspecified unset [1000, 3000)');
  assert.equal(await status('true'), 'unspecified error [1000, 3000)');
});

test('times that are absent, fractional, negative or no numbers', async () => {
  const times = async (more: object) => /\[.*\)/.exec(await dump([span('a', more)]))?.[0];
  assert.equal(await times({ startTime: undefined }), '[none, none)');
  assert.equal(await times({ duration: null }), '[1000, none)');
  assert.equal(await times({ duration: 1.5 }), '[1000, 2500)');
  assert.equal(
    await times({ startTime: '1750000000123457', duration: '77' }),
    '[1750000000123457000, 1750000000123534000)',
  );
  assert.equal(await times({ startTime: 5, duration: -2 }), '[5000, 3000)');
  assert.equal(await times({ startTime: -5 }), '[none, none)');
  assert.equal(await times({ startTime: 'now' }), '[none, none)');
});

test('processes stand before or behind the spans, inline ones win, an absent one has no name', async () => {
  const spans = [
    span('a'),
    span('b', { processID: 'none' }),
    span('c', { process: { serviceName: 'inline' } }),
  ];
  const processes = { p: { serviceName: 'named' } };
  for (const trace of [
    { traceID: TRACE, spans, processes },
    { processes, spans, traceID: TRACE },
  ]) {
    const services = (await dump({ data: [trace] })).split('\n').map((line) => line.split(' ')[3]);
    assert.deepEqual(services, ['named', 'unknown_service', 'inline']);
  }
});

test('a trace with things in it that are no spans', async () => {
  const input = await readBytes(
    JSON.stringify({
      data: [{ traceID: TRACE, spans: [span('a'), 7, null, span('')], processes: null }, null, { odd: 1 }],
    }),
  );
  assert.equal(
    dumpAccount(input),
    `\
-: Jaeger JSON, 1 spans, 3 rejected
  - line 1: Span that is no object but number
  - line 1: span "": its span id is empty
  - line 1: element 2 of a list: unknown format, first keys: odd
`,
  );
});
