import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { checkInvariants } from '../../sample-app/src/case-study/invariants.ts';
import { readStats } from '../../sample-app/src/case-study/monitor.ts';
import { startService, startWorker } from '../../sample-app/src/case-study/stack.ts';
import { type Database, openDatabase } from '../../sample-app/src/postgres/database.ts';
import { Children } from '../../sample-app/src/run/children.ts';
import { createTables } from '../../sample-app/src/service/schema.ts';
import { VARIANTS, type VariantName } from '../../sample-app/src/service/variants.ts';

const directory = mkdtempSync(join(tmpdir(), 'waitfall-test-'));
chmodSync(directory, 0o755);
process.env['TMPDIR'] = directory;
const children = new Children();
let database: Database;

before(async () => {
  database = await openDatabase();
});
after(async () => {
  await children.stopAll();
  await database.close();
  rmSync(directory, { recursive: true });
});

async function prepare(variant: VariantName, stock: number): Promise<string> {
  const url = await database.createSchema(variant);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await createTables(client, { registrations: 200, stock, stockRows: VARIANTS[variant].config.stockRows });
  await client.end();
  return url;
}

const serve = (variant: VariantName, databaseUrl: string) =>
  startService(children, variant, databaseUrl, join(directory, `${variant}.jsonl`));

/** Signs a user up. @returns the status, or null when the service died under it. */
async function signUp(url: string, campaign: number, user: number): Promise<number | null> {
  try {
    const response = await fetch(`${url}/signup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ campaign, user, age: 30, region: 'r1' }),
    });
    await response.text();
    return response.status;
  } catch {
    return null;
  }
}

async function eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 1500; attempt++) {
    if (await holds()) return;
    await sleep(10);
  }
  assert.fail(`not within 15 s: ${what}`);
}

for (const variant of ['before', 'update-last', 'split-row'] as const) {
  test(`${variant}: sells exactly the stock, then says so; one registration a user`, async () => {
    const stock = 21;
    const url = await prepare(variant, stock);
    const service = await serve(variant, url);
    const users = Array.from({ length: 30 }, (_, index) => index + 1);
    const statuses = await Promise.all(users.map((user) => signUp(service.url, 1, user)));
    assert.equal(statuses.filter((status) => status === 201).length, stock);
    assert.equal(statuses.filter((status) => status === 410).length, users.length - stock);
    const lucky = users[statuses.indexOf(201)]!;
    assert.ok([409, 410].includes((await signUp(service.url, 1, lucky))!), 'not registered twice');
    assert.equal(await signUp(service.url, 2, lucky), 201, 'another campaign still has stock');
    const stats = await readStats(service.url);
    await children.stop(service.child);
    const invariants = await checkInvariants({
      databaseUrl: url,
      preloaded: 200,
      stock,
      auditParts: VARIANTS[variant].config.auditRows,
      stats,
    });
    assert.deepEqual(
      invariants.filter(({ holds }) => !holds),
      [],
    );
  });
}

test('answers: result, unknown id, bad body, health, state', async () => {
  const url = await prepare('real-rtt', 1000);
  const service = await serve('real-rtt', url);
  const get = async (path: string) => {
    const response = await fetch(service.url + path);
    return { status: response.status, body: await response.json(), headers: response.headers };
  };
  const result = await get('/signup/1');
  assert.equal(result.status, 200);
  assert.equal((result.body as { campaign: number }).campaign, 3);
  assert.match(result.headers.get('server-timing') ?? '', /queue;dur=[\d.]+.*work;dur=[\d.]+/s);
  assert.equal((await get('/signup/999999')).status, 404);
  assert.equal((await get('/health')).status, 200);
  const bad = await fetch(`${service.url}/signup`, { method: 'POST' });
  assert.equal(bad.status, 400);
  assert.equal(await signUp(service.url, 1, 7), 201);
  const stats = await readStats(service.url);
  assert.equal(stats?.executed, 4);
  assert.equal(stats?.pool.max, 10);
  await children.stop(service.child);
});

test('kill -9 of the service and of the outbox worker: nothing lost, nothing double', async () => {
  const stock = 1000;
  const url = await prepare('after', stock);
  let service = await serve('after', url);
  let worker = await startWorker(children, VARIANTS.after, url);
  const users = Array.from({ length: 160 }, (_, index) => index + 1);
  const confirmed = new Set<number>();
  const waiting = [...users];
  const client = async () => {
    for (let user = waiting.shift(); user !== undefined; user = waiting.shift()) {
      if ((await signUp(service.url, 1, user)) === 201) confirmed.add(user);
    }
  };
  const clients = Promise.all(Array.from({ length: 8 }, client));
  await eventually('20 confirmed', () => confirmed.size >= 20);
  worker!.kill('SIGKILL');
  await eventually('50 confirmed', () => confirmed.size >= 50);
  const dead = once(service.child, 'exit');
  service.child.kill('SIGKILL');
  await Promise.all([dead, clients]);
  assert.ok(confirmed.size < users.length, 'killed in the middle');

  service = await serve('after', url);
  worker = await startWorker(children, VARIANTS.after, url);
  for (const user of users) {
    const status = await signUp(service.url, 1, user);
    // Whoever got 201 is registered; whoever did not may be: the answer was lost, not necessarily the sign-up.
    assert.ok(status === 409 || (status === 201 && !confirmed.has(user)), `user ${user}: ${status}`);
  }
  await eventually('outbox empty', async () => (await readStats(service.url))?.outbox?.rows === 0);
  const stats = await readStats(service.url);
  await children.stop(service.child);
  await children.stop(worker!);
  const invariants = await checkInvariants({ databaseUrl: url, preloaded: 200, stock, auditParts: 1, stats });
  assert.deepEqual(
    invariants.filter(({ holds }) => !holds),
    [],
  );
  const registrations = invariants.find(({ name }) => name.startsWith('registrations'))!.detail;
  assert.match(registrations, /^160 registrations/);
});
