import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dumpAccount, dumpSpans } from './dump.ts';
import { readBytes } from './reading.ts';

function span(id: string, more: object = {}): object {
  return { traceId: 'ab', id, name: 'get', timestamp: 1, duration: 2, ...more };
}

async function dump(...spans: object[]): Promise<string> {
  const { table } = await readBytes(JSON.stringify(spans));
  return dumpSpans(table).replaceAll('000000000000000000000000000000ab/', '').trimEnd();
}

test('client and server halves of one id are two records, the server half marked', async () => {
  const halves = await dump(
    span('1', { kind: 'CLIENT', localEndpoint: { serviceName: 'front' } }),
    span('1', { kind: 'SERVER', shared: true, localEndpoint: { serviceName: 'back', ipv4: '192.0.2.7' } }),
  );
  assert.equal(
    halves,
    `\
0000000000000001 < - back{host.ip="192.0.2.7"} @ "get" server unset [1000, 3000) shared
0000000000000001 < - front @ "get" client unset [1000, 3000)`,
  );
});

test('the remote endpoint becomes the peer, unless a tag names it already', async () => {
  const remoteEndpoint = { serviceName: 'db', ipv6: '2001:db8::1', port: 5432 };
  assert.match(
    await dump(span('1', { remoteEndpoint, tags: { 'peer.service': 'primary' } })),
    /\{network.peer.address="2001:db8::1", network.peer.port=5432, peer.service="primary"\}/,
  );
});

test('any error tag marks a failed span, its text is the message', async () => {
  const status = async (tags: object) => /"get" \S+ (.*) \[/.exec(await dump(span('1', { tags })))?.[1];
  assert.equal(await status({ error: 'sold out' }), 'error(sold out)');
  assert.equal(await status({ error: '' }), 'error');
  assert.equal(await status({ error: 'true' }), 'error');
  assert.equal(await status({ error: 'false' }), 'unset');
  assert.equal(
    await status({ 'otel.status_code': 'ERROR', 'otel.status_description': 'late' }),
    'error(late)',
  );
  assert.equal(await status({}), 'unset');
});

test('a span without a kind is local; times may be absent', async () => {
  assert.match(await dump(span('1')), /"get" internal unset \[1000, 3000\)/);
  assert.match(await dump(span('1', { kind: 'ODD' })), /"get" unspecified/);
  assert.match(await dump(span('1', { duration: undefined })), /\[1000, none\)/);
  assert.match(await dump(span('1', { timestamp: undefined })), /\[none, none\)/);
});

test("tags are text, Waitfall's own are the numbers and booleans they were", async () => {
  const tags = {
    'waitfall.resource.capacity': '8',
    'waitfall.estimated': 'true',
    'waitfall.resource': 'lock:8',
    size: '8',
  };
  assert.match(
    await dump(span('1', { tags })),
    /\{size="8", waitfall.estimated=true, waitfall.resource="lock:8", waitfall.resource.capacity=8\}/,
  );
});

test('version 1 is named, not guessed at', async () => {
  const old = {
    traceId: '1',
    id: '1',
    name: 'get',
    annotations: [{ timestamp: 1, value: 'cs' }],
    binaryAnnotations: [],
  };
  assert.equal(
    dumpAccount(await readBytes(JSON.stringify([old]))),
    `\
-: Zipkin JSON, 0 spans, 1 rejected (no spans: span "get" is Zipkin v1: export it as v2 (/api/v2/traces))
  - line 1: span "get" is Zipkin v1: export it as v2 (/api/v2/traces)
`,
  );
});
