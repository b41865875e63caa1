import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import type { Database } from '../../sample-app/src/postgres/database.ts';
import { type Recording, request, startRecording } from './support/recording.ts';

let recording: Recording;
let database: Database;
let pg: typeof import('pg');

before(async () => {
  recording = startRecording({ official: false });
  pg = createRequire(import.meta.url)('pg');
  const { openDatabase } = await import('../../sample-app/src/postgres/database.ts');
  database = await openDatabase();
});
after(async () => {
  await database?.close();
  await recording?.stop();
});
beforeEach(() => recording.clear());

const newClient = (options: object = {}) => {
  const client = new pg.Client({ connectionString: database.url, application_name: 'alone', ...options });
  client.on('error', () => {});
  return client;
};

for (const [style, connect] of Object.entries({
  'by promise': (client: InstanceType<typeof pg.Client>) => client.connect() as Promise<unknown>,
  'by callback': (client: InstanceType<typeof pg.Client>) =>
    new Promise((resolve, reject) => {
      const returned = client.connect((error: Error | undefined) => (error ? reject(error) : resolve(null)));
      assert.equal(returned, undefined);
    }),
})) {
  test(`a connection that belongs to no pool is waited for, ${style}`, async () => {
    const client = newClient();
    let realMs = 0;
    await request(async () => {
      const startMs = performance.now();
      await connect(client);
      realMs = performance.now() - startMs;
      await client.query('SELECT 1');
    });
    await client.end();
    const [wait, ...more] = recording.segment('connection_wait');
    assert.deepEqual(more, []);
    assert.equal(wait.attributes['waitfall.resource'], 'connect:pg-client:alone');
    assert.equal(wait.attributes['waitfall.outcome'], 'acquired');
    assert.ok(
      wait.lengthMs <= realMs + 0.5 && wait.lengthMs > realMs * 0.6 - 2,
      `${wait.lengthMs}, ${realMs}`,
    );
    const [root] = recording.spans().filter((span) => span.name === 'request');
    assert.equal(
      Math.round(root.attributes['waitfall.time.connection_wait_ns'] as number),
      Math.round(wait.lengthMs * 1e6),
    );
  });

  test(`a server that refuses, and one that does not answer in time, ${style}`, async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as { port: number };
    const address = {
      connectionString: undefined,
      host: '127.0.0.1',
      user: 'u',
      password: 'p',
      database: 'd',
    };
    await request(() =>
      assert.rejects(connect(newClient({ ...address, port, connectionTimeoutMillis: 40 })) as Promise<void>),
    );
    silent.close();
    await request(() => assert.rejects(connect(newClient({ ...address, port })) as Promise<void>));
    assert.deepEqual(
      recording
        .segment('connection_wait')
        .map(({ attributes }) => [attributes['waitfall.outcome'], attributes['error.type']]),
      [
        ['timeout', 'timeout'],
        ['rejected', 'ECONNREFUSED'],
      ],
    );
  });
}

test("a pool's connections are its own, and a client's returned promise is the only one", async () => {
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  await request(async () => void (await pool.query('SELECT 1')));
  await pool.end();
  assert.deepEqual(
    recording.segment('connection_wait').map((span) => span.attributes['waitfall.resource']),
    ['connect:pg-pool:postgres'],
  );
});
