import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponseReader } from '../../instrumentation/src/export/http-response.ts';

/** Reads a response in pieces of a length. @returns the reader, and whether the response was complete. */
function read(text: string, length = text.length): { reader: ResponseReader; complete: boolean } {
  const reader = new ResponseReader();
  let complete = false;
  for (let at = 0; at < text.length; at += length)
    complete = reader.read(Buffer.from(text.slice(at, at + length), 'latin1'));
  return { reader, complete };
}

const LENGTH = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nRetry-After: 3\r\n\r\nhello';
const CHUNKED =
  'HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\na\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n';
const EMPTY = 'HTTP/1.1 204 No Content\r\n\r\n';
const INTERIM = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${LENGTH}`;

test('a response ends where its body does, however it is cut into pieces', () => {
  for (const [text, status] of [
    [LENGTH, 200],
    [CHUNKED, 503],
    [EMPTY, 204],
    [INTERIM, 200],
  ] as const) {
    for (let length = 1; length <= text.length; length++) {
      const { reader, complete } = read(text, length);
      assert.equal(complete, true, `${text} by ${length}`);
      assert.equal(reader.status, status);
      assert.equal(reader.keepsAlive, true);
      assert.equal(read(text.slice(0, -1), length).complete, false);
    }
  }
  assert.equal(read(LENGTH).reader.header('retry-after'), '3');
});

test('a body without a length ends with its connection', () => {
  const { reader, complete } = read('HTTP/1.1 200 OK\r\n\r\nhello');
  assert.equal(complete, false);
  assert.equal(reader.endsWithConnection, true);
  assert.equal(reader.keepsAlive, false);
});

test('a connection that is to be closed, or has more to say, is not used again', () => {
  assert.equal(read(LENGTH.replace('Retry-After: 3', 'Connection: close')).reader.keepsAlive, false);
  assert.equal(read(LENGTH.replace('HTTP/1.1', 'HTTP/1.0')).reader.keepsAlive, false);
  assert.equal(read(`${LENGTH}HTTP/1.1 200 OK`).reader.keepsAlive, false);
});

test('what is not HTTP/1 is an error', () => {
  assert.throws(() => read('SSH-2.0-OpenSSH\r\n\r\n'), /not HTTP/);
  assert.throws(() => read(CHUNKED.replace('5;x=1', 'hello')), /no size/);
  assert.throws(() => read(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}`), /no end/);
});
