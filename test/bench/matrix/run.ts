/**
 * Does the package work with the versions it claims? Really installs them, each in a directory of its own, and
 * runs one service in each of its set-ups on each Node:
 *
 *   npm run test:matrix [-- --node 20,22,24,26]
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import pg from 'pg';
import { openDatabase } from '../../../sample-app/src/postgres/database.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));
const { values } = parseArgs({ options: { node: { type: 'string', default: '20,22,24,26' } } });

/** Versions that belong together. */
const INSTALLATIONS: Record<string, Record<string, string>> = {
  'API 1.9, SDK 2.x': {
    '@opentelemetry/api': '1.9.1',
    '@opentelemetry/sdk-node': '0.223.0',
    '@opentelemetry/instrumentation-http': '0.223.0',
    '@opentelemetry/instrumentation-express': '0.71.1',
    '@opentelemetry/instrumentation-pg': '0.76.0',
    '@opentelemetry/instrumentation-undici': '^0.33.0',
    express: '4',
    pg: '8.11.0',
  },
  'API 1.10, SDK 3.x': {
    '@opentelemetry/api': '1.10.0',
    '@opentelemetry/sdk-node': '0.301.0',
    '@opentelemetry/instrumentation-http': '0.301.0',
    '@opentelemetry/instrumentation-express': '0.72.0',
    '@opentelemetry/instrumentation-pg': '0.77.0',
    '@opentelemetry/instrumentation-undici': '0.34.0',
    express: '5',
    pg: '8.23.1',
  },
};
const SETUPS = ['own set-up', 'register, sdk', 'register, standalone'] as const;

interface Line {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: Record<string, unknown> | { key: string; value: Record<string, unknown> }[];
}

const directory = await mkdtemp(join(tmpdir(), 'waitfall-matrix-'));
const database = await openDatabase();
let failed = 0;
try {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('CREATE TABLE item (id int PRIMARY KEY, sold int NOT NULL DEFAULT 0)');
  await client.query('INSERT INTO item (id) VALUES (1)');
  await client.end();
  const npm = (args: string[], cwd: string) =>
    run('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd });
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', directory], {
    cwd: join(root, 'instrumentation'),
  });
  const tarball = join(directory, stdout.trim());
  const nodes = new Map<string, string>();
  for (const major of (values.node ?? '').split(',')) {
    const at = join(directory, `node-${major}`);
    await mkdir(at, { recursive: true });
    await npm(['install', '--prefix', at, `node@${major}`], at);
    nodes.set(major, join(at, 'node_modules', 'node', 'bin', 'node'));
  }
  for (const [name, dependencies] of Object.entries(INSTALLATIONS)) {
    const at = join(directory, name.replaceAll(/\W+/g, '-'));
    await mkdir(at);
    const manifest = {
      private: true,
      dependencies: { ...dependencies, '@waitfall/instrumentation': `file:${tarball}` },
    };
    await writeFile(join(at, 'package.json'), JSON.stringify(manifest));
    await copyFile(new URL('check.cjs', import.meta.url), join(at, 'check.cjs'));
    await npm(['install', '--ignore-scripts', '--omit=dev'], at);
    for (const [major, binary] of nodes) {
      for (const setup of SETUPS) {
        const problem = await check(binary, at, setup);
        if (problem !== null) failed++;
        console.log(
          `${problem === null ? 'works ' : 'BROKEN'}  ${name.padEnd(20)} Node ${major.padEnd(3)} ${setup}${problem === null ? '' : `: ${problem}`}`,
        );
      }
    }
  }
} finally {
  await database.close();
  await rm(directory, { recursive: true, force: true });
}
if (failed > 0) process.exitCode = 1;

/** @returns what is wrong with what was recorded, or null. */
async function check(binary: string, cwd: string, setup: (typeof SETUPS)[number]): Promise<string | null> {
  const file = join(cwd, 'traces.jsonl');
  await rm(file, { force: true });
  const flags = setup === 'own set-up' ? [] : ['--import', '@waitfall/instrumentation/register'];
  const env = {
    ...process.env,
    DATABASE_URL: database.url,
    ...(setup !== 'own set-up' && {
      WAITFALL_TRACE_FILE: file,
      WAITFALL_MODE: setup.endsWith('sdk') ? 'sdk' : 'standalone',
    }),
  };
  let spans: Line[];
  try {
    const { stdout, stderr } = await run(binary, [...flags, 'check.cjs', setup], {
      cwd,
      env,
      timeout: 60_000,
    });
    if (/waitfall:/.test(stderr)) return stderr.trim().split('\n')[0];
    spans =
      setup === 'own set-up'
        ? stdout
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line))
        : fromFile(file);
  } catch (error) {
    return (
      String((error as { stderr?: string }).stderr || error)
        .trim()
        .split('\n')
        .find((line) => /Error/.test(line)) ?? String(error)
    );
  }
  const segment = (span: Line) => attribute(span, 'waitfall.segment');
  const count = (test: (span: Line) => boolean) => spans.filter(test).length;
  // The requests come from the same process: what their own sockets waited for is not looked at here.
  const of = (span: Line, resource: string) => attribute(span, 'waitfall.resource') === resource;
  const found = {
    pool: count((span) => segment(span) === 'pool_wait' && of(span, 'pg-pool:matrix')),
    connection: count((span) => segment(span) === 'connection_wait' && of(span, 'connect:pg-pool:matrix')),
    lock: count((span) => segment(span) === 'lock_wait'),
    queries: count((span) => span.name.startsWith('pg.query')),
    orphans: count(
      (span) => !!span.parentSpanId && !spans.some((other) => other.spanId === span.parentSpanId),
    ),
    sums: count((span) => attribute(span, 'waitfall.time.pool_wait_ns') !== undefined),
  };
  const expected = { pool: 3, connection: 1, lock: 3, queries: 9, orphans: 0, sums: 2 };
  const wrong = Object.entries(expected).filter(([key, value]) => found[key as keyof typeof found] !== value);
  return wrong.length === 0
    ? null
    : wrong
        .map(([key, value]) => `${key} ${found[key as keyof typeof found]} instead of ${value}`)
        .join(', ');
}

function attribute(span: Line, key: string): unknown {
  if (!Array.isArray(span.attributes)) return span.attributes[key];
  const found = span.attributes.find((pair) => pair.key === key);
  return found && Object.values(found.value)[0];
}

function fromFile(path: string): Line[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .flatMap((line) => JSON.parse(line).resourceSpans)
    .flatMap((resource) => resource.scopeSpans)
    .flatMap((scope) => scope.spans);
}
