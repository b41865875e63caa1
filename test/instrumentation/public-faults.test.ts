import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SpanKind, trace } from '@opentelemetry/api';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { OtlpSpanProcessor } from '@waitfall/instrumentation';
import { build } from 'esbuild';
import { type Database, openDatabase } from '../../sample-app/src/postgres/database.ts';
import { type ExportedSpan, type SpawnedService, spawnService } from './support/spawned.ts';

// Faults that users of other instrumentations reported in public; which test covers which is in README.md.

let database: Database;
let service: SpawnedService;
before(async () => {
  database = await openDatabase();
  service = await spawnService('leaving.mjs', { DATABASE_URL: database.url, WAITFALL_MODE: 'standalone' });
});
after(async () => {
  service?.process.kill();
  await database?.close();
});

const hex = (bytes: number) => randomBytes(bytes).toString('hex');

/** Sends a request and leaves after a while. @returns its trace id. */
async function leave(path: string, afterMs: number): Promise<string> {
  const traceId = hex(16);
  const request = get(service.url + path, { headers: { traceparent: `00-${traceId}-${hex(8)}-01` } });
  request.on('error', () => {});
  await sleep(afterMs);
  request.destroy();
  return traceId;
}

const durationMs = (span: ExportedSpan) =>
  Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6;

for (const [holder, waiter, segment] of [
  ['/hold', '/want', 'pool_wait'],
  ['/lock', '/row', 'lock_wait'],
] as const) {
  test(`a client that leaves while its request is in ${segment}: one server span, and the whole wait`, async () => {
    const held = fetch(service.url + holder);
    await sleep(100);
    const traceId = await leave(waiter, 100);
    await held;
    await sleep(500);
    const spans = service.spans().filter((span) => span.traceId === traceId);
    const servers = spans.filter((span) => span.kind === 2);
    assert.equal(servers.length, 1);
    assert.equal(servers[0].attributes['error.type'], 'client_closed');
    const waits = spans.filter((span) => span.attributes['waitfall.segment'] === segment);
    const longest = waits.sort((a, b) => durationMs(b) - durationMs(a))[0];
    assert.ok(longest !== undefined && durationMs(longest) > 120, 'it waited on after the client had left');
    assert.equal(longest.attributes['waitfall.outcome'], 'acquired');
    assert.notEqual(longest.attributes['waitfall.hold.duration_ns'], undefined);
  });
}

test('many requests over one connection add no listeners to it', async () => {
  const { Agent } = await import('node:http');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; i < 30; i++) {
    const request = get(`${service.url}/want`, { agent });
    const [response] = await once(request, 'response');
    response.resume();
    await once(response, 'end');
  }
  agent.destroy();
  assert.doesNotMatch(service.stderr(), /MaxListeners/);
});

test('a bundle of ES modules whose classes extend each other starts and works under register', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'waitfall-bundle-'));
  try {
    const register = fileURLToPath(new URL('../../instrumentation/src/register.ts', import.meta.url));
    symlinkSync(
      fileURLToPath(new URL('../../node_modules', import.meta.url)),
      join(directory, 'node_modules'),
    );
    writeFileSync(join(directory, 'base.mjs'), 'export class Base { greet() { return "hello"; } }\n');
    writeFileSync(
      join(directory, 'service.mjs'),
      `import * as bases from './base.mjs';
import { createServer } from 'node:http';
import express from 'express';
class Service extends bases.Base {}
const app = express();
app.get('/greet/:name', (request, response) => response.end(new Service().greet()));
const server = createServer(app).listen(0, '127.0.0.1', () => console.log(server.address().port));
`,
    );
    await build({
      entryPoints: [join(directory, 'service.mjs')],
      outfile: join(directory, 'bundle.mjs'),
      bundle: true,
      format: 'esm',
      platform: 'node',
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
      logLevel: 'error',
    });
    const child = spawn(
      process.execPath,
      ['--conditions=waitfall-source', '--import', register, join(directory, 'bundle.mjs')],
      {
        env: { ...process.env, WAITFALL_TRACE_FILE: join(directory, 'traces.jsonl') },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const [port] = (await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => ['']),
    ])) as [Buffer];
    assert.match(String(port), /^\d+/, stderr);
    const answer = await fetch(`http://127.0.0.1:${Number(port)}/greet/you`);
    assert.equal(await answer.text(), 'hello');
    child.kill('SIGKILL');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('a collector that never answers: spans beyond the bound are dropped, counted and said', async () => {
  const collector = createServer((request) => request.resume());
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const exporting = new OtlpSpanProcessor({
    url: `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`,
  });
  const provider = new TracerProvider({ spanProcessors: [exporting] });
  const tracer = provider.getTracer('service');
  const text = 'x'.repeat(4_000);
  let sent = 0;
  for (; sent < 10_000 && exporting.dropped === 0; sent++) {
    tracer.startSpan('span', { kind: SpanKind.SERVER, attributes: { text } }).end();
  }
  assert.ok(sent > 1_000, 'some are kept');
  assert.equal(exporting.dropped, 1);
  tracer.startSpan('one more').end();
  assert.equal(exporting.dropped, 2);
  collector.closeAllConnections();
  collector.close();
  trace.disable();
});
