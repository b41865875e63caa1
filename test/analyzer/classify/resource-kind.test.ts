import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resourceKind } from '../../../analyzer/src/classify/resource-kind.ts';

test('the segment of a wait says the kind of its queue, whatever the resource is called', () => {
  assert.equal(resourceKind('admission_wait', 'my-gate'), 'admission');
  assert.equal(resourceKind('pool_wait', 'http-agent:host:80'), 'pool');
  assert.equal(resourceKind('connection_wait', 'pg-pool:a'), 'connection');
  assert.equal(resourceKind('lock_wait', null), 'lock');
  assert.equal(resourceKind('downstream', 'db:5432'), 'downstream');
});

test('a hold says it by its name', () => {
  assert.equal(resourceKind('hold', 'http.server'), 'admission');
  assert.equal(resourceKind('hold', 'pg-pool:signup'), 'pool');
  assert.equal(resourceKind('hold', 'connect:pg-pool:signup'), 'connection');
  assert.equal(resourceKind('hold', 'lock:campaign'), 'lock');
  assert.equal(resourceKind('hold', 'http-agent:host:80'), 'pool');
  assert.equal(resourceKind('hold', 'mysql2-pool:shop'), 'pool');
  assert.equal(resourceKind('hold', 'threadpool'), 'threadpool');
  assert.equal(resourceKind('hold', 'bathroom'), null);
});

test('work is of the event loop; what is no queue has no kind', () => {
  assert.equal(resourceKind('work', 'eventloop'), 'eventloop');
  assert.equal(resourceKind('work', null), null);
  assert.equal(resourceKind('messaging', 'mail'), null);
  assert.equal(resourceKind('unaccounted', 'http.server'), null);
  assert.equal(resourceKind('generator_wait', 'eventloop'), null);
});
