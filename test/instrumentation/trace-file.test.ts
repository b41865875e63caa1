/**
 * The trace file is written whatever the service waits for, and is there when the service is not any more.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LineFile } from '../../instrumentation/src/export/line-file.ts';
import { spawnService } from './support/spawned.ts';

const SERVICE = '../../recorder/service.mjs';
/** Later than a write that is due 200 ms after the first span it is to write, also where one before it took 40 ms. */
const AFTER_WRITE_MS = 1_000;

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'waitfall-trace-file-'));
});
after(() => rmSync(directory, { recursive: true, force: true }));

function newPipe(name: string): string {
  const path = join(directory, name);
  execFileSync('mkfifo', [path]);
  return path;
}

async function until(is: () => boolean, what: string): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (is()) return;
    await sleep(10);
  }
  assert.fail(what);
}

for (const threads of ['free', 'all taken']) {
  test(`SIGKILL loses nothing that ended a write before, threads ${threads}`, async () => {
    const service = await spawnService(SERVICE, { UV_THREADPOOL_SIZE: '1' });
    const ended = once(service.process, 'exit');
    try {
      const ask = async (path: string) => (await fetch(`${service.url}${path}`)).text();
      if (threads !== 'free') await ask(`/occupy?path=${newPipe('occupied')}`);
      for (let count = 0; count < 20; count++) await ask('/?ms=3');
      await assert.rejects(ask(`/kill?ms=${AFTER_WRITE_MS}`));
      assert.deepEqual(await ended, [null, 'SIGKILL']);
      // Each line is whole, or this throws.
      const names = service.spans().map(({ name }) => name);
      assert.equal(names.filter((name) => name === 'GET').length, threads === 'free' ? 20 : 21);
      assert.ok(names.includes('wait_for printer'));
    } finally {
      service.process.kill('SIGKILL');
    }
  });
}

test('much at once is written over several turns, in order', async () => {
  const path = join(directory, 'much.jsonl');
  const file = new LineFile(path);
  const line = (number: number) => Buffer.from(`${String(number).padEnd(64 * 1024 - 1, '.')}\n`);
  for (let number = 0; number < 40; number++) file.append(line(number));
  file.write();
  const first = statSync(path).size;
  assert.ok(first > 0 && first <= 256 * 1024, `${first} bytes in one turn`);
  await until(() => statSync(path).size === 40 * 64 * 1024, 'the rest was never written');
  const numbers = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((text) => Number(text.replaceAll('.', '')));
  assert.deepEqual(
    numbers,
    Array.from({ length: 40 }, (_, number) => number),
  );
  await file.close();
  assert.equal(file.dropped, 0);
});

test('a pipe that nobody empties holds nothing up, and gets everything when somebody does', async () => {
  const path = newPipe('slow-reader');
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const file = new LineFile(path);
  const lines = Array.from({ length: 30 }, (_, number) => `${String(number).padEnd(20_000, '.')}\n`);
  for (const one of lines) file.append(Buffer.from(one));
  // More than a pipe takes: this would not return if it waited.
  file.write();
  let text = '';
  const read = Buffer.alloc(100_000);
  await until(() => {
    try {
      text += read.toString('utf8', 0, readSync(reader, read));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
    }
    return text.length === lines.join('').length;
  }, 'it never came through');
  assert.equal(text, lines.join(''));
  await file.close();
  closeSync(reader);
});

test('a pipe without a reader is said, and holds nothing up', () => {
  const file = new LineFile(newPipe('nobody'), 'a test');
  file.append(Buffer.from('a line\n'));
  file.write();
  assert.equal(file.failed, true);
  assert.equal(file.dropped, 1);
});
