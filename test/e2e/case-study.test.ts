import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../sample-app/src/case-study/main.ts', import.meta.url));
const temporary = mkdtempSync(join(tmpdir(), 'waitfall-test-'));
// As root, PostgreSQL runs as another user and must get through here.
chmodSync(temporary, 0o755);
after(() => rmSync(temporary, { recursive: true }));

const HOT_SHARE = 0.7;
const steps = [
  { phase: 'warmup', arrivalsPerSecond: 20, seconds: 1 },
  { phase: 'ramp', arrivalsPerSecond: 20, seconds: 2 },
  { phase: 'ramp', arrivalsPerSecond: 40, seconds: 2 },
];
const planned = steps.reduce((sum, step) => sum + step.arrivalsPerSecond * step.seconds, 0);
const manifest = {
  name: 'end to end',
  steps,
  requests: [
    {
      name: 'sign-up',
      share: HOT_SHARE,
      method: 'POST',
      path: '/signup',
      body: { campaign: 1, user: '{{sequence hot}}', age: 30, region: 'r1' },
    },
    {
      name: 'result',
      share: 1 - HOT_SHARE,
      method: 'GET',
      path: '/signup/{{integer 1 500}}',
      route: '/signup/:id',
    },
  ],
};

test('service, load and analyzer together: every request is accounted for, every queue is there', {
  timeout: 60_000,
}, async () => {
  const manifestPath = join(temporary, 'manifest.json');
  const runs = join(temporary, 'runs');
  const own = mkdtempSync(join(temporary, 'tmp-'));
  chmodSync(own, 0o755);
  writeFileSync(manifestPath, JSON.stringify(manifest));
  const child = spawn(
    process.execPath,
    [
      '--conditions=waitfall-source',
      main,
      ...['--variants', 'before', '--manifest', manifestPath, '--registrations', '500', '--out', runs],
    ],
    { env: { ...process.env, TMPDIR: own, DATABASE_URL: '' }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  await once(child, 'close');
  assert.deepEqual(readdirSync(own), [], 'the temporary data of the database is gone');

  const [run] = globSync(join(runs, '*-before'));
  assert.ok(run, output);
  const read = (file: string) => JSON.parse(readFileSync(join(run, file), 'utf8'));
  const report = read('report.json');
  assert.equal(report.requests.count, planned);
  assert.deepEqual(report.routes.map(({ route }: { route: string }) => route).sort(), [
    'GET /signup/:id',
    'POST /signup',
  ]);
  assert.deepEqual(report.input.rejected, []);
  assert.ok(report.requests.coverage > 0.95, `${report.requests.coverage}`);
  assert.equal(report.windows.length, steps.length);

  const resources = new Map(report.resources.map((row: { resource: string }) => [row.resource, row])) as Map<
    string,
    { kind: string; capacity: number | null; visitsPerRequest: number; ownDemandNs: number }
  >;
  assert.equal(resources.get('http.server')?.capacity, 64);
  assert.equal(resources.get('pg-pool:signup')?.capacity, 10);
  assert.equal(resources.get('eventloop')?.kind, 'eventloop');
  const lock = resources.get('lock:campaign');
  assert.equal(lock?.kind, 'lock');
  assert.ok(Math.abs(lock.visitsPerRequest - HOT_SHARE) < 0.15, `${lock.visitsPerRequest} visits`);
  // An audit record of 56 kB takes 22.4 ms on a line of 20 Mbit/s: no hold can be shorter.
  assert.ok(lock.ownDemandNs > HOT_SHARE * 0.85 * 22.4e6, `${lock.ownDemandNs} ns`);

  const text = readFileSync(join(run, 'report.txt'), 'utf8');
  assert.equal(
    text.match(/^(First saturating queue|No queue saturated|A queue saturated|Not enough)/gm)?.length,
    1,
  );
  assert.ok(output.includes(text.split('\n').at(-2)!), 'the report is printed whole');
  assert.match(output, /npx waitfall .*-before/);
});
