import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseByteSize } from '../../../analyzer/src/model/byte-size.ts';
import { writeOtlp } from '../../sim/export/index.ts';
import { FULL_EXPORT } from '../../sim/export/types.ts';
import { simulate } from '../../sim/simulate.ts';
import { hotRow, steadily } from '../../sim/small.ts';
import { waitfall } from './command.ts';

/** Runs `use` with a directory of its own, and an empty one for temporary files. */
async function withRun(use: (run: string, temporary: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'waitfall-memory-'));
  const [run, temporary] = [join(directory, 'run'), join(directory, 'tmp')];
  try {
    for (const one of [run, temporary]) mkdirSync(one);
    const scenario = steadily(hotRow(), 80, 300);
    await writeOtlp(simulate(scenario, { record: true, stopAtEnd: false }), FULL_EXPORT, run);
    await use(run, temporary);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

test('a report is the same to the byte whatever memory it may take, and leaves no file behind', async () => {
  await withRun(async (run, temporary) => {
    const env = { TMPDIR: temporary };
    const json = ['report', run, '--format', 'json'];
    const whole = await waitfall(json, { env });
    assert.equal(whole.code, 0);
    assert.deepEqual(await waitfall([...json, '--memory', '1M'], { env }), whole);
    const text = await waitfall(['report', run], { env });
    assert.deepEqual(await waitfall(['report', run], { env: { ...env, WAITFALL_MEMORY: '1' } }), text);
    assert.deepEqual(readdirSync(temporary), []);
  });
});

test('--memory takes a size, and says so where it gets something else', async () => {
  const { code, stderr } = await waitfall(['report', 'x.jsonl', '--memory', 'much']);
  assert.equal(code, 2);
  assert.match(stderr, /--memory 'much' is not understood; write a size such as 256M or 2G/);
  assert.equal(parseByteSize('256M'), 256 * 2 ** 20);
  assert.equal(parseByteSize('1.5 GiB'), 1.5 * 2 ** 30);
  assert.equal(parseByteSize('64kB'), 65536);
  assert.equal(parseByteSize('1000'), 1000);
  assert.equal(parseByteSize('-1M'), null);
  assert.equal(parseByteSize('M'), null);
});

test('a disk without room is said in one line', { skip: process.platform === 'win32' }, async () => {
  await withRun(async (run, temporary) => {
    const missing = join(temporary, 'nowhere');
    const { code, stderr } = await waitfall(['report', run, '--memory', '1M'], { env: { TMPDIR: missing } });
    assert.equal(code, 2);
    assert.match(stderr, /^waitfall: .*nowhere.*--memory.*TMPDIR.*\[NO_ROOM\]\n$/);
  });
});

test('interrupted while spans are in a file, nothing is left of it', {
  skip: process.platform !== 'linux',
}, async () => {
  await withRun(async (run, temporary) => {
    const main = fileURLToPath(new URL('../../../analyzer/src/cli/main.ts', import.meta.url));
    const args = [
      '--conditions=waitfall-source',
      main,
      'report',
      '--memory',
      '1',
      join(run, 'traces.jsonl'),
      '-',
    ];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const ended = once(child, 'exit');
    // Standard input never ends: the run stays in the file.
    while (!isOpen(child.pid as number, temporary)) await setTimeout(20);
    child.kill('SIGINT');
    assert.deepEqual(await ended, [null, 'SIGINT']);
    assert.deepEqual(readdirSync(temporary), []);
  });
});

/** Whether a process holds a file open that is, or was, in a directory. */
function isOpen(pid: number, directory: string): boolean {
  const files = `/proc/${pid}/fd`;
  return readdirSync(files).some((file) => {
    try {
      return readlinkSync(join(files, file)).startsWith(directory);
    } catch {
      // Closed meanwhile.
      return false;
    }
  });
}
