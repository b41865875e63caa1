import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { waitfall } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'waitfall-doctor-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Span {
  readonly scope: string;
  readonly name: string;
  readonly kind: number;
  readonly parent?: string;
  readonly id: string;
  readonly startNs: number;
  readonly endNs: number;
  readonly attributes?: Readonly<Record<string, string>>;
}

/** Requests of one service, each with the same spans. */
function service(
  name: string,
  resource: Record<string, string>,
  spans: readonly Span[],
  requests = 10,
): string {
  const attributes = (all: Readonly<Record<string, string>>) =>
    Object.entries(all).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  const scopes = [...new Set(spans.map((span) => span.scope))];
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributes({ 'service.name': name, ...resource }) },
        scopeSpans: scopes.map((scope) => ({
          scope: { name: scope, version: '1.2.3' },
          spans: Array.from({ length: requests }, (_, i) =>
            spans
              .filter((span) => span.scope === scope)
              .map((span) => ({
                traceId: `${name.length.toString(16).padStart(2, '0')}${i.toString(16).padStart(30, '0')}`,
                spanId: span.id.repeat(16),
                ...(span.parent === undefined ? {} : { parentSpanId: span.parent.repeat(16) }),
                name: span.name,
                kind: span.kind,
                startTimeUnixNano: String(
                  1_760_000_000_000_000_000n + BigInt(i * 1_000_000_000 + span.startNs),
                ),
                endTimeUnixNano: String(1_760_000_000_000_000_000n + BigInt(i * 1_000_000_000 + span.endNs)),
                attributes: attributes(span.attributes ?? {}),
              })),
          ).flat(),
        })),
      },
    ],
  });
}

const HTTP = '@opentelemetry/instrumentation-http';
const PG = '@opentelemetry/instrumentation-pg';
const OURS = '@waitfall/instrumentation';
const NODE = {
  'telemetry.sdk.language': 'nodejs',
  'telemetry.sdk.name': 'opentelemetry',
  'telemetry.sdk.version': '2.1.0',
  'service.instance.id': 'a',
};
const ms = 1_000_000;
const server = (scope: string, startNs = 7, endNs = 100 * ms): Span => ({
  scope,
  id: '1',
  name: 'GET /orders',
  kind: 2,
  startNs,
  endNs,
});
const statement: Span = {
  scope: PG,
  id: '2',
  parent: '1',
  name: 'pg.query:SELECT shop',
  kind: 3,
  startNs: 40 * ms + 7,
  endNs: 60 * ms,
  attributes: { 'db.system.name': 'postgresql', 'server.address': 'db' },
};
const poolWait: Span = {
  scope: OURS,
  id: '3',
  parent: '1',
  name: 'wait_for pg-pool:shop',
  kind: 1,
  startNs: 10 * ms + 7,
  endNs: 40 * ms,
  attributes: {
    'waitfall.segment': 'pool_wait',
    'waitfall.resource': 'pg-pool:shop',
    'waitfall.outcome': 'acquired',
  },
};

async function ids(name: string, content: string): Promise<{ ids: string[]; accountedShare: number }> {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, content);
  const { code, stdout, stderr } = await waitfall(['doctor', path, '--format', 'json']);
  assert.equal(code, 0, stderr);
  const [only] = JSON.parse(stdout).services;
  return { ids: only.advice.map(({ id }: { id: string }) => id), accountedShare: only.accountedShare };
}

test('a service without our instrumentation: what is missing, and its unexplained time', async () => {
  const found = await ids('official', service('orders', NODE, [server(HTTP), statement]));
  assert.deepEqual(found.ids, ['not-instrumented', 'unexplained-time']);
  assert.ok(Math.abs(found.accountedShare - 0.2) < 1e-6, String(found.accountedShare));
});

test('pg that was loaded too early is told from a service without a pool', async () => {
  const work: Span = {
    ...poolWait,
    id: '4',
    startNs: 60 * ms,
    endNs: 99 * ms,
    name: 'work',
    attributes: { 'waitfall.segment': 'work' },
  };
  const late = await ids('late', service('orders', NODE, [server(HTTP), statement, work]));
  assert.ok(late.ids.includes('pg-not-patched'), late.ids.join());
  const patched = await ids('patched', service('orders', NODE, [server(HTTP), statement, work, poolWait]));
  assert.ok(!patched.ids.includes('pg-not-patched'), patched.ids.join());
  assert.ok(patched.ids.includes('no-holds'));
  const without = await ids('without', service('orders', NODE, [server(HTTP), work]));
  assert.ok(!without.ids.includes('pg-not-patched'), without.ids.join());
});

test('floored clocks, missing names and missing instances make numbers wrong', async () => {
  const floored = await ids(
    'floored',
    service('orders', NODE, [server(OURS, 0), { ...poolWait, startNs: 10 * ms }]),
  );
  assert.ok(floored.ids.includes('floored-clock'));
  const exact = await ids('exact', service('orders', NODE, [server(OURS), poolWait]));
  assert.ok(!exact.ids.includes('floored-clock'));
  const anonymous = await ids(
    'anonymous',
    service('unknown_service:node', { 'telemetry.sdk.language': 'nodejs' }, [server(OURS), poolWait]),
  );
  assert.deepEqual(anonymous.ids.slice(0, 2), ['no-service-name', 'no-instance']);
});

test('spans that sound like a wait come with the rule that makes them one', async () => {
  const acquire: Span = { ...poolWait, scope: 'my-pool', name: 'pool.acquire', attributes: {} };
  const path = join(folder, 'acquire.json');
  writeFileSync(
    path,
    service('orders', NODE, [
      server(OURS),
      poolWait,
      { ...acquire, id: '5', startNs: 60 * ms, endNs: 99 * ms },
    ]),
  );
  const { stdout } = await waitfall(['doctor', path]);
  assert.match(
    stdout.replaceAll(/\s+/g, ' '),
    /'pool\.acquire' sounds like a wait .* --rules rules\.yaml with: /,
  );
});

test('waits that say so themselves are seen, whoever recorded them; known names need no rule', async () => {
  const stated: Span = { ...poolWait, scope: 'our-own' };
  const known: Span = { ...poolWait, id: '5', scope: PG, name: 'pg-pool.connect', attributes: {} };
  const found = await ids('stated', service('orders', NODE, [server(HTTP), stated, known]));
  assert.ok(!found.ids.includes('not-instrumented'), found.ids.join());
  assert.ok(!found.ids.includes('like-a-wait'), found.ids.join());
});

test('requests that are named by their method alone are noticed, those with a route are not', async () => {
  const bare: Span = { ...server(HTTP), name: 'GET' };
  const routed: Span = { ...bare, attributes: { 'http.route': '/orders' } };
  const without = await ids('routeless', service('orders', NODE, [bare, poolWait], 20));
  assert.ok(without.ids.includes('no-routes'), without.ids.join());
  const known = await ids('routed', service('orders', NODE, [routed, poolWait], 20));
  assert.ok(!known.ids.includes('no-routes'), known.ids.join());
});

test('a service in another language and one that only calls are not told to load a Node package', async () => {
  const java = await ids(
    'java',
    service('billing', { ...NODE, 'telemetry.sdk.language': 'java' }, [server('io.opentelemetry.tomcat')]),
  );
  assert.deepEqual(java.ids.slice(0, 1), ['other-language']);
  const client = await ids('client', service('load-generator', NODE, [{ ...server('load'), kind: 3 }]));
  assert.deepEqual(client.ids, []);
});

test('text: what recorded, what was seen, what to do; --min-coverage exits with 3', async () => {
  const path = join(folder, 'text.json');
  writeFileSync(path, service('orders', NODE, [server(HTTP), statement, poolWait]));
  const { code, stdout } = await waitfall(['doctor', path, '--min-coverage', '40%']);
  assert.equal(code, 0);
  assert.match(stdout, /^Service orders$/m);
  assert.match(
    stdout,
    /^ {2}Node\.js, OpenTelemetry SDK 2\.1\.0; 1 process; 30 spans; 10 traces begin here$/m,
  );
  assert.match(stdout, /^ {2}50 % of its time is accounted for; nobody measured the rest\.$/m);
  assert.match(stdout, /^ {2}@waitfall\/instrumentation +1\.2\.3 +10$/m);
  assert.match(stdout, /^ {2}pool_wait +10 {2}pg-pool:shop$/m);
  assert.match(stdout, /^ {2}lock_wait +none$/m);
  assert.equal((await waitfall(['doctor', path, '--min-coverage', '60%'])).code, 3);
  const wrong = await waitfall(['doctor', path, '--min-coverage', 'most']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--min-coverage 'most' is not understood; write a share such as 80%/);
});

const SERVER = `
  const http = require('node:http');
  const server = http.createServer((request, response) => response.end('hello'));
  server.listen(0, async () => {
    for (let i = 0; i < 3; i++) await fetch('http://127.0.0.1:' + server.address().port + '/hello').then((r) => r.text());
    server.close();
    server.closeAllConnections();
  });`;

test('--start runs a service, records it and examines it', async () => {
  const script = join(folder, 'server.cjs');
  writeFileSync(script, SERVER);
  const register = fileURLToPath(new URL('../../../instrumentation/src/register.ts', import.meta.url));
  const { code, stdout, stderr } = await waitfall(
    [
      'doctor',
      '--start',
      '--format',
      'json',
      '--',
      process.execPath,
      '--conditions=waitfall-source',
      '--import',
      register,
      script,
    ],
    { env: { OTEL_SERVICE_NAME: 'hello' } },
  );
  assert.equal(code, 0, stderr);
  const [only] = JSON.parse(stdout).services;
  assert.deepEqual([only.service, only.traces], ['hello', 3]);
  assert.match(stderr, /^waitfall: started /);
});

test('--start says when the service recorded nothing, or could not be started', async () => {
  const script = join(folder, 'bare.cjs');
  writeFileSync(script, SERVER);
  const bare = await waitfall(['doctor', '--start', '--', process.execPath, script]);
  assert.equal(bare.code, 1);
  assert.match(bare.stderr, /wrote no span: does it load @waitfall\/instrumentation/);
  const missing = await waitfall(['doctor', '--start', '--', join(folder, 'no-such-program')]);
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /cannot be started/);
  assert.equal((await waitfall(['doctor', '--start'])).code, 2);
});

test('--start --for ends a service that does not end by itself', async () => {
  const script = join(folder, 'endless.cjs');
  const spans = JSON.stringify(service('orders', NODE, [server(OURS)]));
  writeFileSync(
    script,
    `require('node:fs').writeFileSync(process.env.WAITFALL_TRACE_FILE, ${spans}); setInterval(() => {}, 1000);`,
  );
  const args = ['doctor', '--start', '--for', '5s', '--format', 'json', '--', process.execPath, script];
  const { code, stdout, stderr } = await waitfall(args);
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(stdout).services[0].traces, 10);
});
