import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLocks } from '../../instrumentation/src/pg/locks/connection-locks.ts';
import { bench, byId, connected, play, run, useLockBench } from './support/lock-bench.ts';
import { request } from './support/recording.ts';

useLockBench();

test('statements sent ahead in one go: the order of their grants is not certain, and no key is lost by it', async () => {
  const clients = await Promise.all(Array.from({ length: 4 }, () => connected({ pipeline: true })));
  await Promise.all(clients.map((client) => client.query('SELECT count(*) FROM t')));
  bench.recording.clear();
  const turns = 40;
  await Promise.all(
    clients.map(async (client) => {
      for (let i = 0; i < turns / clients.length; i++) {
        await request(() =>
          Promise.all([client.query('BEGIN'), run(client, byId(27)), client.query('COMMIT')]),
        );
      }
    }),
  );
  const spans = bench.recording.segment('lock_wait');
  assert.equal(spans.length, turns, 'every visit is counted');
  for (const span of spans) {
    assert.equal(span.attributes['waitfall.estimated'], true);
    assert.equal(span.attributes['waitfall.hold.duration_ns'], undefined);
    assert.equal(span.links.length, 0);
  }
  await Promise.all(clients.map((client) => client.end()));
  assert.equal(openLocks(), 0);
  const { wait } = await play({ a: byId(27), b: byId(27) });
  assert.ok(wait, 'the key is still believed');
});

test('a pipelined client that is used one statement at a time is like others', async () => {
  const client = await connected({ pipeline: true });
  await request(async () => {
    await client.query('BEGIN');
    await run(client, byId(26));
    await client.query('COMMIT');
  });
  await client.end();
  const [hold] = bench.recording.segment('lock_wait');
  assert.equal(hold.attributes['waitfall.estimated'], undefined);
  assert.ok((hold.attributes['waitfall.hold.duration_ns'] as number) > 0);
});
