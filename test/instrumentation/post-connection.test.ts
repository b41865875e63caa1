import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcp, type Socket } from 'node:net';
import { test } from 'node:test';
import { OtlpSender } from '../../instrumentation/src/export/otlp-sender.ts';
import { PostConnection } from '../../instrumentation/src/export/post-connection.ts';

async function listen(handler: RequestListener, keepAliveTimeout = 5_000) {
  const server = createServer({ keepAliveTimeout }, handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  let connections = 0;
  server.on('connection', () => connections++);
  return { server, url: urlOf(server.address() as AddressInfo), connections: () => connections };
}

/** A server that answers every connection's first bytes with a text. */
async function listenTcp(answer: (socket: Socket) => void) {
  const server = createTcp((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: urlOf(server.address() as AddressInfo) };
}

const urlOf = ({ port }: AddressInfo) => new URL(`http://127.0.0.1:${port}/v1/traces`);
const headOf = (url: URL, length: number) =>
  `POST / HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: ${length}\r\n\r\n`;

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('one connection takes one request after the other, with bodies of several parts', async () => {
  const bodies: string[] = [];
  const { server, url, connections } = await listen(async (request, response) => {
    bodies.push((await bodyOf(request)).toString());
    response.end('thanks');
  });
  const connection = new PostConnection(url);
  for (let i = 0; i < 5; i++) {
    assert.equal(connection.isFree, true);
    const parts = [Buffer.from(`part ${i}, `), Buffer.from('x'.repeat(200_000))];
    const posted = connection.post(headOf(url, 200_008), parts, 5_000);
    assert.equal(connection.isFree, false);
    assert.equal((await posted).status, 200);
  }
  assert.equal(connections(), 1);
  assert.deepEqual(
    bodies.map((body) => [body.slice(0, 8), body.length]),
    [0, 1, 2, 3, 4].map((i) => [`part ${i}, `, 200_008]),
  );
  connection.close();
  server.close();
});

test('a connection that its server has closed, or is about to, is left', async () => {
  // Node closes idle connections after that time, and says one second.
  const { server, url } = await listen((_, response) => response.end(), 1_000);
  const connection = new PostConnection(url);
  await connection.post(headOf(url, 0), [], 5_000);
  assert.equal(connection.isFree, false);
  connection.close();
  server.close();
});

test('no answer, half an answer and none at all are errors', async () => {
  const never = await listenTcp(() => {});
  const silent = new PostConnection(never.url);
  await assert.rejects(silent.post(headOf(never.url, 0), [], 50), /no answer within 50 ms/);
  const half = await listenTcp((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel'));
  const cut = new PostConnection(half.url);
  await assert.rejects(cut.post(headOf(half.url, 0), [], 5_000), /closed before the answer/);
  const closed = await listenTcp(() => {});
  closed.server.close();
  await once(closed.server, 'close');
  await assert.rejects(new PostConnection(closed.url).post('', [], 5_000), /ECONNREFUSED/);
  never.server.close();
  half.server.close();
});

test('a body without a length ends with the connection', async () => {
  const { server, url } = await listenTcp((socket) => socket.end('HTTP/1.1 202 Accepted\r\n\r\nok'));
  const answer = await new PostConnection(url).post(headOf(url, 0), [], 5_000);
  assert.equal(answer.status, 202);
  server.close();
});

test('an answer before the end of the request costs the connection, not the answer', async () => {
  const { server, url } = await listenTcp((socket) => {
    socket.pause();
    socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n');
  });
  const connection = new PostConnection(url);
  const body = Buffer.alloc(32 * 1024 * 1024);
  assert.equal((await connection.post(headOf(url, body.length), [body], 5_000)).status, 413);
  assert.equal(connection.isFree, false);
  server.close();
});

test('the sender says who it is, and keeps one connection', async () => {
  const seen: IncomingMessage['headers'][] = [];
  const { server, url, connections } = await listen(async (request, response) => {
    seen.push(request.headers);
    assert.equal((await bodyOf(request)).toString(), 'spans');
    assert.equal(`${request.method} ${request.url}`, 'POST /v1/traces?a=b');
    response.end();
  });
  url.search = '?a=b';
  url.username = 'me';
  url.password = 'p%40ss';
  const headers = { 'X-Key': 'secret', 'Content-Type': 'application/other', 'bad name': 'x', bad: 'a\nb' };
  const sender = new OtlpSender({ url, headers, timeoutMs: 5_000, compress: false });
  const body = [Buffer.from('sp'), Buffer.from('ans')];
  assert.equal(await sender.send(body), true);
  assert.equal(await sender.send(body), true);
  assert.equal(connections(), 1);
  assert.equal(seen[0].authorization, `Basic ${Buffer.from('me:p@ss').toString('base64')}`);
  assert.equal(seen[0]['x-key'], 'secret');
  assert.equal(seen[0]['content-type'], 'application/other');
  assert.equal(seen[0].host, url.host);
  assert.equal('bad' in seen[0], false);
  server.closeAllConnections();
  server.close();
});
