import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../sample-app/src/case-study/main.ts', import.meta.url));
const temporary = mkdtempSync(join(tmpdir(), 'waitfall-test-'));
// As root, PostgreSQL runs as another user and must get through here.
chmodSync(temporary, 0o755);
after(() => rmSync(temporary, { recursive: true }));

/** All runs write side by side, as those of one user do. */
const runs = join(temporary, 'runs');
const manifest = join(temporary, 'small.yaml');
writeFileSync(
  manifest,
  JSON.stringify({
    name: 'small',
    steps: [
      { phase: 'warmup', arrivalsPerSecond: 20, seconds: 1 },
      { phase: 'ramp', arrivalsPerSecond: 40, seconds: 2 },
    ],
    requests: [
      {
        name: 'sign-up',
        share: 0.7,
        method: 'POST',
        path: '/signup',
        body: { campaign: 1, user: '{{sequence hot}}', age: 30, region: 'r1' },
      },
      { name: 'result', share: 0.3, method: 'GET', path: '/signup/{{integer 1 500}}', route: '/signup/:id' },
    ],
  }),
);

/** Starts the case study with a temporary folder of its own, by which its processes can be found. */
function start(name: string, ...args: string[]): { child: ChildProcess; own: string; output: () => string } {
  const own = join(temporary, name);
  mkdirSync(own, { mode: 0o755 });
  const child = spawn(
    process.execPath,
    [
      '--conditions=waitfall-source',
      main,
      '--manifest',
      manifest,
      '--registrations',
      '500',
      '--out',
      runs,
      ...args,
    ],
    {
      env: { ...process.env, TMPDIR: own, DATABASE_URL: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
  );
  let output = '';
  child.stdout!.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr!.on('data', (chunk) => {
    output += chunk;
  });
  return { child, own, output: () => output };
}

/** Processes of this machine that have `text` in their command line or environment. */
function processesWith(text: string): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .filter((entry) => {
      try {
        const about =
          readFileSync(`/proc/${entry}/cmdline`, 'utf8') + readFileSync(`/proc/${entry}/environ`, 'utf8');
        return about.includes(text);
      } catch {
        return false;
      }
    });
}

async function nothingLeft(own: string): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    if (readdirSync(own).length === 0 && (!existsSync('/proc/self') || processesWith(own).length === 0))
      return;
    await sleep(50);
  }
  assert.fail(`left after 15 s: ${readdirSync(own)}, processes ${processesWith(own)}`);
}

async function until(run: { output: () => string; child: ChildProcess }, text: string): Promise<void> {
  for (let attempt = 0; attempt < 600 && run.child.exitCode === null; attempt++) {
    if (run.output().includes(text)) return;
    await sleep(50);
  }
  assert.fail(`"${text}" was not printed:\n${run.output()}`);
}

function readRun(variant: string) {
  const [directory] = globSync(join(runs, `*-${variant}`));
  assert.ok(directory, `no run directory of ${variant}`);
  const json = (file: string) => JSON.parse(readFileSync(join(directory, file), 'utf8'));
  const lines = (file: string) => readFileSync(join(directory, file), 'utf8').trim().split('\n');
  return { json, lines };
}

test('two runs at once: both whole, their data apart, nothing left of either', {
  timeout: 60_000,
}, async () => {
  const both = [start('one', '--variants', 'after'), start('two', '--variants', 'split-row')];
  await Promise.all(both.map(({ child }) => once(child, 'exit')));
  for (const [index, variant] of (['after', 'split-row'] as const).entries()) {
    const { own, output } = both[index]!;
    const { json, lines } = readRun(variant);
    const load = json('load.json');
    assert.deepEqual(
      load.steps.map((step: { planned: number; succeeded: number }) => [step.planned, step.succeeded]),
      [
        [20, 20],
        [80, 80],
      ],
      output(),
    );
    const broken = json('invariants.json').filter((invariant: { holds: boolean }) => !invariant.holds);
    assert.deepEqual(broken, []);
    assert.equal(json('manifest.json').variant, variant);
    assert.equal(json('manifest.json').workload.hash, load.manifest.hash);
    assert.ok(lines('resources.jsonl').every((line) => JSON.parse(line).service !== undefined));
    const names = new Set(
      lines('traces.jsonl')
        .flatMap((line) => JSON.parse(line).resourceSpans)
        .flatMap((resource) => resource.scopeSpans)
        .flatMap((scope) => scope.spans)
        .map((span) => span.name),
    );
    for (const name of ['POST /signup', 'GET /signup/:id', 'wait_for http.server', 'eligibility rules']) {
      assert.ok(names.has(name), `${name} among ${[...names]}`);
    }
    assert.ok(!names.has('GET /stats'), 'looking at the service is no request of its');
    await nothingLeft(own);
  }
});

test('interrupted in the middle of a load', { timeout: 60_000 }, async (t) => {
  const cases = [
    // Ctrl-C reaches every process of the terminal's group, the others only the one they are sent to.
    { signal: 'SIGINT', toGroup: true },
    { signal: 'SIGTERM', toGroup: false },
    { signal: 'SIGKILL', toGroup: false },
  ] as const;
  const started = cases.map(({ signal }) => start(signal.toLowerCase(), '--variants', 'after'));
  await Promise.all(started.map((run) => until(run, 'step 1/2')));
  // All at once: while one is looked at, the others must not come to their own end.
  const exits = cases.map(({ signal, toGroup }, index) => {
    const { child } = started[index]!;
    const exit = once(child, 'exit');
    process.kill(toGroup ? -child.pid! : child.pid!, signal);
    return exit;
  });
  for (const [index, { signal }] of cases.entries()) {
    await t.test(`${signal}: no process and no temporary folder is left`, async () => {
      const run = started[index]!;
      const [code] = await exits[index]!;
      if (signal !== 'SIGKILL') assert.equal(code, 130, run.output());
      await nothingLeft(run.own);
    });
  }
});
