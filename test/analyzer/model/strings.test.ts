import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StringPool } from '../../../analyzer/src/model/strings.ts';

test('equal texts share an id, different ones never do', () => {
  const pool = new StringPool();
  const texts = Array.from({ length: 20_000 }, (_, i) => `${i}-${'ä日𝄞'.repeat(i % 7)}${'x'.repeat(i % 90)}`);
  const ids = texts.map((text) => pool.intern(text));
  assert.equal(new Set(ids).size, texts.length);
  assert.equal(pool.size, texts.length + 1);
  texts.forEach((text, i) => {
    assert.equal(pool.intern(text), ids[i]);
    assert.equal(pool.find(text), ids[i]);
    assert.equal(pool.text(ids[i]), text);
  });
  assert.equal(pool.find('never seen'), -1);
});

test('bytes and text of the same value share an id', () => {
  const pool = new StringPool();
  const bytes = Buffer.from('??größe??');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const id = pool.internBytes(bytes, view, 2, bytes.length - 2);
  assert.equal(pool.intern('größe'), id);
  assert.equal(pool.text(id), 'größe');
});

test('the empty text is 0, and a long one is kept whole', () => {
  const pool = new StringPool();
  assert.equal(pool.intern(''), 0);
  assert.equal(pool.find(''), 0);
  assert.equal(pool.text(0), '');
  const long = 'long '.repeat(1_200_000);
  const before = pool.intern('before');
  const id = pool.intern(long);
  const after = pool.intern('after');
  assert.equal(pool.text(id), long);
  assert.equal(pool.text(before), 'before');
  assert.equal(pool.text(after), 'after');
});

test('half a surrogate pair becomes the replacement character', () => {
  const pool = new StringPool();
  assert.equal(pool.text(pool.intern('a\ud800b')), 'a\ufffdb');
});
