import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { createLink } from '../../sample-app/src/link/shaper.ts';

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** A server that sends everything back, behind a link of that bandwidth. */
async function echoBehindLink(bytesPerMs: number): Promise<Socket> {
  const echo = await listen(createServer((socket) => socket.pipe(socket)));
  const client = connect(await listen(createLink('127.0.0.1', echo, bytesPerMs)), '127.0.0.1');
  await once(client, 'connect');
  return client;
}

async function readBytes(socket: Socket, count: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of socket) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length >= count) break;
  }
  return Buffer.concat(chunks);
}

test('bytes arrive whole and in order, and not before the line could carry them', async () => {
  const client = await echoBehindLink(2_500);
  const sent = randomBytes(100_000);
  const startedMs = performance.now();
  // Pieces of all sizes: small ones must not overtake large ones.
  for (let at = 0, size = 1; at < sent.length; at += size, size = (size * 7) % 20_011) {
    client.write(sent.subarray(at, at + size));
  }
  const received = await readBytes(client, sent.length);
  assert.ok(received.equals(sent));
  // 40 ms on the way there; the way back overlaps with it.
  assert.ok(performance.now() - startedMs >= 39);
});

test('the end of one side reaches the other after the last byte', async () => {
  const client = await echoBehindLink(100);
  client.end(Buffer.alloc(3_000, 'x'));
  const chunks: Buffer[] = [];
  for await (const chunk of client) chunks.push(chunk as Buffer);
  assert.equal(Buffer.concat(chunks).length, 3_000);
});
