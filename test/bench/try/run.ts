/**
 * Starts a real service nobody here has written, unmodified, with the one flag, drives it beyond what it can do,
 * and prints what its own spans say:
 *
 *   npm run try:postgraphile
 *   npm run try:parse-server [-- --keep FOLDER]     leaves the export there, to be looked at with `waitfall`
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import pg from 'pg';
import { openDatabase } from '../../../sample-app/src/postgres/database.ts';
import { SERVICES } from './services.ts';

const STEP_SECONDS = 6;
const START_LIMIT_MS = 60_000;
const DRAIN_LIMIT_MS = 40_000;

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: 'string' } },
});
const [name = ''] = positionals;
const service = SERVICES[name];
if (service === undefined) {
  console.error(`usage: run.ts ${Object.keys(SERVICES).join('|')} [--keep FOLDER]`);
  process.exit(2);
}

const directory = await mkdtemp(join(tmpdir(), 'waitfall-try-'));
const traces = join(directory, 'traces.jsonl');
const plan = join(directory, 'load.json');
let child: ChildProcess | undefined;
let database: Awaited<ReturnType<typeof openDatabase>> | undefined;
try {
  console.log(`installing ${service.packages.join(' ')} …`);
  const packed = await run('npm', ['pack', '--silent', '--pack-destination', directory], {
    cwd: join(root, 'instrumentation'),
  });
  const tarball = join(directory, packed.stdout.trim());
  await writeFile(join(directory, 'package.json'), '{"private":true}');
  await run(
    'npm',
    [
      'install',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      '--legacy-peer-deps',
      tarball,
      '@opentelemetry/api@1',
      ...service.packages,
    ],
    {
      cwd: directory,
    },
  );

  database = await openDatabase();
  await execute(database.url, service.schema);

  const port = await freePort();
  const { program, args, env } = service.command(database.url, port);
  child = spawn(process.execPath, ['--import', '@waitfall/instrumentation/register', program, ...args], {
    cwd: directory,
    env: { ...process.env, ...env, OTEL_SERVICE_NAME: name, WAITFALL_TRACE_FILE: traces },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  await untilUp(`${url}${service.health}`);
  const next = await service.prepare(url);
  if (service.afterwards !== undefined) await execute(database.url, service.afterwards);
  console.log(`${name} is up; driving it with ${service.ratesPerSecond.join(', ')} requests per second`);
  const steps = [];
  let n = 0;
  const open = new Set<Promise<void>>();
  for (const arrivalsPerSecond of service.ratesPerSecond) {
    const startMs = Date.now();
    const counts = { planned: 0, succeeded: 0, invalid: 0 };
    while (Date.now() - startMs < STEP_SECONDS * 1e3) {
      const due = Math.floor(((Date.now() - startMs) / 1e3) * arrivalsPerSecond);
      for (; counts.planned < due; counts.planned++) {
        const { path, ...init } = next(n++);
        const request = fetch(url + path, init)
          .then(async (answer) => {
            const text = await answer.text();
            if (answer.ok && !text.includes('"errors"')) counts.succeeded++;
            else counts.invalid++;
          })
          .catch(() => {
            counts.invalid++;
          })
          .finally(() => open.delete(request));
        open.add(request);
      }
      await sleep(2);
    }
    steps.push({
      startUnixNano: `${startMs}000000`,
      endUnixNano: `${Date.now()}000000`,
      arrivalsPerSecond,
      phase: 'steady',
      ...counts,
    });
    console.log(
      `  ${arrivalsPerSecond}/s: ${counts.planned} sent, ${counts.succeeded} answered, ${counts.invalid} failed, ${open.size} open`,
    );
  }
  // Requests that are cut off leave no span, and would look like a sampled export.
  await Promise.race([Promise.all(open), sleep(DRAIN_LIMIT_MS)]);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await Promise.race([ended, sleep(5_000)]);
  await writeFile(plan, JSON.stringify({ steps }));
  const report = spawn(
    process.execPath,
    [join(root, 'analyzer/bin/waitfall.js'), 'report', traces, '--load', plan],
    {
      stdio: 'inherit',
    },
  );
  await once(report, 'exit');
  if (values.keep !== undefined) {
    await mkdir(values.keep, { recursive: true });
    for (const file of [traces, plan]) await cp(file, join(values.keep, basename(file)));
  }
} finally {
  child?.kill('SIGKILL');
  await database?.close();
  await rm(directory, { recursive: true, force: true });
}

async function execute(databaseUrl: string, statements: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(statements);
  await client.end();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function untilUp(url: string): Promise<void> {
  const limitMs = Date.now() + START_LIMIT_MS;
  for (;;) {
    try {
      const answer = await fetch(url);
      if (answer.status < 500) return;
    } catch {
      // Not yet.
    }
    if (child?.exitCode !== null) throw new Error(`${name} ended before it was up`);
    if (Date.now() > limitMs) throw new Error(`${name} was not up after ${START_LIMIT_MS / 1e3} s`);
    await sleep(200);
  }
}
