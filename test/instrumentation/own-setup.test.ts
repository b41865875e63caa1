import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Database, openDatabase } from '../../sample-app/src/postgres/database.ts';
import { type ExportedSpan, spansOf, spawnService } from './support/spawned.ts';

let database: Database;
let directory: string;
before(async () => {
  database = await openDatabase();
  directory = mkdtempSync(join(tmpdir(), 'waitfall-own-'));
});
after(async () => {
  await database?.close();
  rmSync(directory, { recursive: true, force: true });
});

const hex = (bytes: number) => randomBytes(bytes).toString('hex');

for (const mode of ['standalone', 'sdk']) {
  test(`${mode}: a set-up that the service makes after register gets every span, once, and ours with them`, async () => {
    const file = join(directory, `${mode}.jsonl`);
    const service = await spawnService('own-setup.mjs', {
      DATABASE_URL: database.url,
      OWN_FILE: file,
      WAITFALL_MODE: mode,
    });
    const ask = async (path: string) => {
      const traceId = hex(16);
      const headers = { traceparent: `00-${traceId}-${hex(8)}-01` };
      const answer = await fetch(service.url + path, { headers });
      return { traceId, body: (await answer.json()) as Record<string, string> };
    };
    const row = await ask('/row');
    const call = await ask('/call');
    assert.equal(await service.stop(), 0);
    const spans = readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .flatMap((line) => spansOf(JSON.parse(line)));
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const of = (traceId: string) => spans.filter((span) => span.traceId === traceId);
    const named = (list: ExportedSpan[], name: string) => list.filter((span) => span.name.startsWith(name));

    const ofRow = of(row.traceId);
    assert.equal(ofRow.filter((span) => span.kind === 2).length, 1, 'one SERVER span');
    assert.equal(named(ofRow, 'pg.query').length, 3, 'one span a statement');
    assert.equal(named(ofRow, 'wait_for pg-pool:shop').length, 1);
    assert.equal(named(ofRow, 'step').length, 1, 'a tracer from before is served by the new provider');
    for (const span of ofRow) assert.ok(span.kind === 2 || byId.has(span.parentSpanId ?? ''), span.name);

    const clients = of(call.traceId).filter((span) => span.kind === 3);
    assert.equal(clients.length, 1, 'one CLIENT span');
    assert.equal(call.body['traceparent'], `00-${call.traceId}-${clients[0].spanId}-01`);

    // A file is only made for the first span.
    const ours = existsSync(service.file) ? service.spans() : [];
    assert.deepEqual(
      ours.filter((span) => [row.traceId, call.traceId].includes(span.traceId)),
      [],
      'nothing is recorded twice',
    );
    assert.match(service.stderr(), /set-up of its own: spans go where it sends them/);
  });
}
