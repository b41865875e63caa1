import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const register = fileURLToPath(new URL('../../../instrumentation/src/register.ts', import.meta.url));

/** @returns what a script prints, started with these flags, and what it says on stderr. */
async function run(
  script: string,
  flags: string[],
  type = 'commonjs',
  env: Record<string, string> = {},
): Promise<{ stdout: string; stderr: string }> {
  return promisify(execFile)(
    process.execPath,
    ['--conditions=waitfall-source', ...flags, `--input-type=${type}`, '-e', script],
    { cwd: root, env: { ...process.env, WAITFALL_TRACE_FILE: '/dev/null', ...env }, timeout: 90_000 },
  );
}

/** Prints everything a service can see of its pools: values, errors, order, listeners, unhandled rejections. */
const SCRIPT = `
  const seen = [];
  process.on('unhandledRejection', (error) => seen.push('unhandled ' + error.message));
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const { Pool: Tarn } = require('tarn');
  const { Pool: Sequelize } = require('sequelize-pool');
  const { createPool } = require('generic-pool');
  const create = async () => { await sleep(5); return { made: true }; };
  const destroy = async () => {};
  const tarn = new Tarn({ create, destroy, min: 0, max: 1, acquireTimeoutMillis: 80 });
  const sequelize = new Sequelize({ create, destroy, validate: () => true, min: 0, max: 1, acquireTimeoutMillis: 80 });
  const generic = createPool({ create, destroy }, { max: 1, acquireTimeoutMillis: 80 });
  const acquires = { tarn: () => tarn.acquire().promise, sequelize: () => sequelize.acquire(), generic: () => generic.acquire() };
  const pools = { tarn, sequelize, generic };
  (async () => {
    for (const [name, acquire] of Object.entries(acquires)) {
      const pool = pools[name];
      const promise = acquire();
      seen.push(name, promise.constructor.name, Object.keys(pool).sort().join());
      const item = await promise;
      seen.push(JSON.stringify(item), String(pool._factory === undefined || pool._factory.create === create));
      const order = [];
      const later = [1, 2].map((n) => acquire().then((got) => { order.push(n); pool.release(got); }));
      pool.release(item);
      await Promise.all(later);
      const held = await acquire();
      await acquire().catch((error) => seen.push(error.constructor.name, error.message));
      acquire();
      await sleep(150);
      seen.push(order.join(), String(await pool.release(held)));
      try { seen.push(String(await pool.release({}))); } catch (error) { seen.push(error.message); }
    }
    await tarn.destroy();
    await sequelize.drain().then(() => sequelize.destroyAllNow());
    await generic.drain().then(() => generic.clear());
    await generic.acquire().catch((error) => seen.push(error.message));
    console.log(seen.join('\\n'));
  })();`;

test('pools give the same values, errors and unhandled rejections in the same order as without us', async () => {
  const [bare, watched] = [await run(SCRIPT, []), await run(SCRIPT, ['--import', register])];
  assert.equal(watched.stdout, bare.stdout);
  assert.equal(bare.stdout.split('\n').filter((line) => line.startsWith('unhandled')).length, 2);
});

test('imported libraries are patched as required ones are', async () => {
  const script = `
    import { patchedModules } from './instrumentation/src/instrumentation.ts';
    import tarn from 'tarn';
    import { Pool } from 'sequelize-pool';
    import generic from 'generic-pool';
    import mysql from 'mysql2/promise';
    import Redis from 'ioredis';
    import postgres from 'postgres';
    import knex from 'knex';
    console.log([...patchedModules()].sort().join(), typeof postgres.camel, typeof tarn.Pool);`;
  const { stdout } = await run(script, ['--import', register], 'module');
  assert.equal(stdout, 'generic-pool,ioredis,knex,mysql2,postgres,sequelize-pool,tarn object function\n');
});

test('a library of an unknown version is left alone, and said once', async () => {
  const script = `
    const { adapterDefinitions } = require('./instrumentation/src/adapters/definitions.ts');
    const { isSupported } = require('./instrumentation/src/core/supported.ts');
    let patched = 0;
    const guard = (name, version, range, exports, patch) => {
      if (isSupported(name, version, range)) patched++;
      return exports;
    };
    for (const definition of adapterDefinitions({ adapters: true }, guard)) {
      const patch = definition.patch ?? definition.files[0].patch;
      const library = {};
      for (let twice = 0; twice < 2; twice++) {
        if (patch(library, '99.0.0') !== library) throw new Error(definition.name);
      }
    }
    console.log(patched);`;
  const { stdout, stderr } = await run(script, []);
  assert.equal(stdout, '0\n');
  const said = stderr.split('\n').filter((line) => line.startsWith('waitfall:'));
  assert.deepEqual(said.map((line) => /^waitfall: (\S+) 99\.0\.0 is not a version/.exec(line)?.[1]).sort(), [
    'generic-pool',
    'ioredis',
    'knex',
    'mysql2',
    'postgres',
    'sequelize-pool',
    'tarn',
  ]);
});

/** Every library once, imported, in one request; servers that are not there tell enough. */
const IMPORTED = `
  import { trace } from '@opentelemetry/api';
  import generic from 'generic-pool';
  import Redis from 'ioredis';
  import mysql from 'mysql2/promise';
  import postgres from 'postgres';
  import { Pool as Sequelize } from 'sequelize-pool';
  import { Pool as Tarn } from 'tarn';
  const create = async () => ({});
  const destroy = async () => {};
  await trace.getTracer('test').startActiveSpan('job', { kind: 1 }, async (span) => {
    const tarn = new Tarn({ create, destroy, min: 0, max: 1 });
    tarn.release(await tarn.acquire().promise);
    await tarn.destroy();
    const sequelize = new Sequelize({ create, destroy, validate: () => true, min: 0, max: 1, acquireTimeoutMillis: 100 });
    sequelize.release(await sequelize.acquire());
    await sequelize.drain().then(() => sequelize.destroyAllNow());
    const pool = generic.createPool({ create, destroy }, { max: 1 });
    await pool.release(await pool.acquire());
    await pool.drain().then(() => pool.clear());
    const errors = [];
    const db = mysql.createPool({ host: '127.0.0.1', port: 1, database: 'none' });
    await db.query('SELECT 1').catch((error) => errors.push(error.code));
    await db.end();
    const sql = postgres('postgres://127.0.0.1:1/none', { max: 1 });
    await sql\`SELECT 1\`.catch((error) => errors.push(error.code));
    await sql.end({ timeout: 0 });
    const redis = new Redis({ host: '127.0.0.1', port: 1, retryStrategy: () => null });
    redis.on('error', () => {});
    await redis.get('a').catch((error) => errors.push(error.message));
    span.end();
    console.log(errors.join());
  });`;

const NAMES = [
  'connect:ioredis:127.0.0.1:1',
  'connect:mysql2-pool:none',
  'connect:postgres-pool:none',
  'generic-pool',
  'mysql2-pool:none',
  'postgres-pool:none',
  'sequelize-pool',
  'tarn-pool',
];

test('imported or required, on or off: recorded as asked, and nothing else changes', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'waitfall-adapters-'));
  const traced = async (name: string, env: Record<string, string>) => {
    const file = join(directory, name);
    const flags = ['--import', register];
    const { stdout } = await run(IMPORTED, flags, 'module', { WAITFALL_TRACE_FILE: file, ...env });
    const names = (await readFile(file, 'utf8')).matchAll(/"wait_for ([^"]+)"/g);
    return { stdout, names: [...new Set([...names].map(([, name]) => name))].sort() };
  };
  try {
    const [on, off, bare] = await Promise.all([
      traced('on', {}),
      traced('off', { WAITFALL_ADAPTERS: 'false' }),
      run(IMPORTED, [], 'module'),
    ]);
    assert.deepEqual(
      NAMES.filter((name) => !on.names.includes(name)),
      [],
    );
    assert.deepEqual(
      off.names.filter((name) => /pool|ioredis/.test(name)),
      [],
    );
    assert.equal(on.stdout, bare.stdout);
    assert.equal(off.stdout, bare.stdout);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
