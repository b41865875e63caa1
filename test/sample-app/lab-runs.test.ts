import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const temporary = mkdtempSync(join(tmpdir(), 'waitfall-labs-'));
after(() => rmSync(temporary, { recursive: true }));

/** A verdict of any kind: what short steps show is not tested here, only that everything is run and printed. */
const VERDICT = /^ {2}(First saturating queue|No queue saturated|A queue saturated|Not enough)/m;

interface Lab {
  readonly child: ChildProcess;
  /** Its temporary folder, by which its processes can be found. */
  readonly own: string;
  readonly runs: string;
  readonly output: () => string;
}

function start(lab: string, name: string, ...args: string[]): Lab {
  const own = join(temporary, `${name}-tmp`);
  const runs = join(temporary, `${name}-runs`);
  mkdirSync(own);
  const main = fileURLToPath(new URL(`../../sample-app/src/labs/${lab}/main.ts`, import.meta.url));
  const child = spawn(process.execPath, ['--conditions=waitfall-source', main, '--out', runs, ...args], {
    env: { ...process.env, TMPDIR: own },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream!.on('data', (chunk) => {
      output += chunk;
    });
  return { child, own, runs, output: () => output };
}

async function ended({ child }: Lab): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  return child.exitCode;
}

/** Processes of this machine that have `text` in their environment. */
function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((entry) => {
    try {
      return /^\d+$/.test(entry) && readFileSync(`/proc/${entry}/environ`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });
}

async function nothingLeft({ own, output }: Lab): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    if (readdirSync(own).length === 0 && (!existsSync('/proc/self') || processesWith(own).length === 0))
      return;
    await sleep(50);
  }
  assert.fail(`left after 15 s: ${readdirSync(own)}, processes ${processesWith(own)}\n${output()}`);
}

async function until(lab: Lab, done: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 600 && lab.child.exitCode === null; attempt++) {
    if (done()) return;
    await sleep(50);
  }
  assert.fail(`it did not come so far:\n${lab.output()}`);
}

const whole = (directory: string): boolean => existsSync(join(directory, 'load.json'));

test('slots: every experiment is run, its table holds each count by its name, and the analyzer judges it', {
  timeout: 120_000,
}, async () => {
  const lab = start('slots', 'slots', '--seconds', '0.6');
  const code = await ended(lab);
  const text = lab.output();
  assert.ok(code === 0 || code === 1, text);
  for (const title of ['received', 'completed/s', 'goodput/s', 'served', 'rejected', 'queue (spans)'])
    assert.ok(text.includes(title), `${title}:\n${text}`);
  // The third experiment, open at 200 ms: 24 arrivals for 4 slots, and what was served and what was rejected are all of them.
  const third = (name: string): number =>
    Number(new RegExp(`^${name} .*$`, 'm').exec(text)![0].split(/ {2,}/)[3]);
  assert.equal(third('planned'), 24);
  assert.equal(third('received'), 24);
  assert.equal(third('served') + third('rejected'), 24);
  assert.match(text, VERDICT);
  assert.match(text, /Server-Timing and spans agree on queue and work/);
  await nothingLeft(lab);
});

/** In its short form: comparison and sizes start eight more services, and show nothing at this length. */
test('bulkheads: the slow downstream and the nested pools are run, judged and printed', {
  timeout: 180_000,
}, async () => {
  const lab = start('bulkheads', 'bulkheads', '--short', '--seconds', '0.5');
  const code = await ended(lab);
  const text = lab.output();
  assert.ok(code === 0 || code === 1, text);
  for (const row of ['none ', 'threads 10', 'semaphore 10'])
    assert.ok(text.includes(row), `${row}:\n${text}`);
  assert.match(text, /wasted calls/);
  assert.match(text, /no order is served by a call that takes longer than its client waits/);
  assert.match(text, /the ceiling: 20 permits \/ \d+ ms held = \d+\/s/);
  assert.match(text, VERDICT);
  await nothingLeft(lab);
});

test('retries: what is offered, sent, completed and good stand apart, and the verdict is asked for retries', {
  timeout: 120_000,
}, async () => {
  const lab = start('retries', 'retries', '--seconds', '0.6');
  const code = await ended(lab);
  const text = lab.output();
  assert.ok(code === 0 || code === 1, text);
  assert.match(text, /offered\/s +sent\/s +completed\/s +goodput\/s/);
  assert.match(text, /^3 attempts, afterwards/m);
  assert.match(text, VERDICT);
  assert.match(text, /the verdict names retries/);
  await nothingLeft(lab);
});

test('a lab interrupted in the middle ends what it started and leaves whole runs only, also beside another', {
  timeout: 120_000,
}, async () => {
  const cases = [
    ['slots', 'SIGINT'],
    ['slots', 'SIGTERM'],
    ['bulkheads', 'SIGTERM'],
    ['retries', 'SIGINT'],
  ] as const;
  await Promise.all(
    cases.map(async ([name, signal], index) => {
      const lab = start(name, `interrupted-${index}`, '--short');
      // In the middle of an experiment: its directory is there, with the generator's first output or none.
      await until(
        lab,
        () =>
          globSync(join(lab.runs, '*')).length > 0 &&
          (!existsSync('/proc/self') || processesWith(lab.own).length >= 3),
      );
      lab.child.kill(signal);
      assert.equal(await ended(lab), 130, lab.output());
      assert.match(lab.output(), new RegExp(`${signal}: stopping what was started`));
      await nothingLeft(lab);
      assert.deepEqual(
        globSync(join(lab.runs, '*')).filter((directory) => !whole(directory)),
        [],
      );
    }),
  );
});
