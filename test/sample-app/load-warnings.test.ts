import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../sample-app/src/postgres/free-port.ts';

const out = mkdtempSync(join(tmpdir(), 'waitfall-load-test-'));
after(() => rmSync(out, { recursive: true, force: true }));

test('a service that is not there is said to be not there, in place of a table of dashes alone', async () => {
  const main = fileURLToPath(new URL('../../sample-app/src/load/main.ts', import.meta.url));
  const manifest = {
    name: 'nobody',
    seed: 1,
    model: 'open',
    arrivals: 'even',
    maxInFlight: 10,
    timeoutMs: 500,
    steps: [{ phase: 'ramp', arrivalsPerSecond: 10, seconds: 0.5 }],
    requests: [{ name: 'a', share: 1, method: 'GET', path: '/', success: [200] }],
  };
  const url = `http://127.0.0.1:${await freePort()}`;
  const ran = spawnSync(
    process.execPath,
    [main, '--manifest', '-', '--url', url, '--out', out, '--no-spans'],
    {
      input: JSON.stringify(manifest),
      encoding: 'utf8',
      timeout: 60_000,
    },
  );
  assert.equal(ran.status, 0, ran.stderr);
  assert.match(ran.stdout + ran.stderr, /no request reached a service: is it up, and is --url right\?/);
});
