import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type ReadProgress, readInputs } from '../../../analyzer/src/read/index.ts';
import { dumpAccount } from './dump.ts';

const folder = mkdtempSync(join(tmpdir(), 'waitfall-paths-'));
after(() => rmSync(folder, { recursive: true }));

function line(name: string): string {
  const spanId = Buffer.from(name.padStart(8, '.')).toString('hex').slice(-16);
  return `${JSON.stringify({
    resourceSpans: [
      {
        scopeSpans: [
          { spans: [{ traceId: 'abc1', spanId, name, startTimeUnixNano: '1', endTimeUnixNano: '2' }] },
        ],
      },
    ],
  })}\n`;
}

/** Writes files into a fresh directory. */
function write(name: string, files: Readonly<Record<string, string | Buffer>>): string {
  const path = join(folder, name);
  mkdirSync(path);
  for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content);
  return path;
}

async function read(...paths: string[]) {
  const input = await readInputs(paths);
  const { table } = input;
  const names = Array.from(table.name, (id) => table.strings.text(id)).join(' ');
  return { input, names, account: dumpAccount(input).replaceAll(`${folder}/`, '') };
}

test('a run directory: exports and the load plan are read, everything else is left alone', async () => {
  const path = write('run', {
    'manifest.json': '{"seed":1}',
    'load.json': '{"steps":[{"startUnixNano":"1","endUnixNano":"2","arrivalsPerSecond":10}]}',
    'traces.jsonl': line('a'),
    'traces-2.jsonl.gz': gzipSync(line('b')),
    'metrics.jsonl': '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m"}]}]}]}',
    'resources.jsonl': '{"cpu":1}\n',
    'invariants.json': '[]',
    'report.json': '{}',
    'report.html': '<html>',
    '.hidden': 'x',
  });
  const { input, account, names } = await read(path);
  assert.equal(names, 'b a');
  assert.equal(
    account,
    `\
run/load.json: load plan, 0 spans, 0 rejected
run/metrics.jsonl: OTLP JSON, 0 spans, 0 rejected (no spans, only 1 metric)
run/traces-2.jsonl.gz: OTLP JSON, gzip, 1 spans, 0 rejected
run/traces.jsonl: OTLP JSON, 1 spans, 0 rejected
`,
  );
  assert.deepEqual(input.loadPlans, [
    {
      path: join(path, 'load.json'),
      content: { steps: [{ startUnixNano: '1', endUnixNano: '2', arrivalsPerSecond: 10 }] },
    },
  ]);
});

test('rotated files are read older first, in whatever order they are named', async () => {
  const path = write('rotated', {
    'traces.jsonl': line('d'),
    'traces-2026-11-30T12-00-00.000-size.jsonl': line('b'),
    'traces-2026-11-30T13-00-00.000-size.jsonl.gz': gzipSync(line('c')),
    'traces-2026-11-29T23-00-00.000.jsonl': line('a'),
    'old.jsonl': line('z'),
    'old.jsonl.1': line('y'),
    'old.jsonl.10': line('x'),
  });
  assert.equal((await read(path)).names, 'x y z a b c d');
  const files = ['traces.jsonl', 'old.jsonl', 'traces-2026-11-30T12-00-00.000-size.jsonl'].map((name) =>
    join(path, name),
  );
  assert.equal((await read(...files)).names, 'b d z');
});

test('a line torn between two rotated files is joined', async () => {
  const whole = line('torn');
  for (const at of [1, 20, whole.length - 2]) {
    const path = write(`torn-${at}`, {
      'traces.jsonl.1': line('a') + whole.slice(0, at),
      'traces.jsonl': whole.slice(at) + line('b'),
    });
    const { names, input } = await read(path);
    assert.equal(names, 'a torn b', `cut at ${at}`);
    assert.deepEqual(input.rejected, []);
  }
});

test('a torn line no file completes is named with its own file', async () => {
  const path = write('torn-alone', { 'a.jsonl': line('a') + line('x').slice(0, 30), 'b.jsonl': line('b') });
  const { names, account } = await read(path);
  assert.equal(names, 'a b');
  assert.equal(
    account,
    `\
torn-alone/a.jsonl: OTLP JSON, 1 spans, 1 rejected
torn-alone/b.jsonl: OTLP JSON, 1 spans, 0 rejected
  torn-alone/a.jsonl line 2: unfinished last line of 30 bytes: file still being written or cut
`,
  );
});

test('globs, and a file named twice or through a link', async () => {
  const path = write('globs', {
    'a1.jsonl': line('a'),
    'a2.jsonl': line('b'),
    'b1.json': line('c'),
    '.a3.jsonl': line('h'),
  });
  mkdirSync(join(path, 'inner'));
  writeFileSync(join(path, 'inner', 'a9.jsonl'), line('i'));
  symlinkSync(join(path, 'a1.jsonl'), join(path, 'link.jsonl'));
  assert.equal((await read(join(path, 'a*.jsonl'))).names, 'a b');
  assert.equal((await read(join(path, '{b,a}[12].json*'))).names, 'a b c');
  assert.equal((await read(join(path, '**', 'a?.jsonl'))).names, 'a b i');
  assert.equal((await read(join(path, 'a1.jsonl'), path, join(path, 'link.jsonl'))).names, 'a b c');
});

test('a path that leads nowhere says so and the others are read', async () => {
  const path = write('nowhere', { 'a.jsonl': line('a') });
  mkdirSync(join(path, 'deep'));
  mkdirSync(join(path, 'deep', 'run-1'));
  const { names, account } = await read(
    join(path, 'none.jsonl'),
    join(path, 'x*.json'),
    join(path, 'deep'),
    path,
  );
  assert.equal(names, 'a');
  assert.equal(
    account,
    `\
nowhere/none.jsonl: unreadable, 0 spans, 1 rejected (cannot be read: no such file or directory)
nowhere/x*.json: unreadable, 0 spans, 1 rejected (no file matches this pattern)
nowhere/deep: unreadable, 0 spans, 1 rejected (no export in this directory; it holds the directories run-1: name one)
nowhere/a.jsonl: OTLP JSON, 1 spans, 0 rejected
  nowhere/none.jsonl : cannot be read: no such file or directory
  nowhere/x*.json : no file matches this pattern
  nowhere/deep : no export in this directory; it holds the directories run-1: name one
`,
  );
});

test('progress tells bytes, their total and the spans so far', async () => {
  const path = write('progress', { 'a.jsonl': line('a'), 'b.jsonl.gz': gzipSync(line('b')) });
  const seen: ReadProgress[] = [];
  await readInputs([path], { onProgress: (progress) => seen.push(progress) });
  const last = seen.at(-1);
  assert.equal(last?.bytes, last?.totalBytes);
  assert.equal(last?.totalBytes, line('a').length + gzipSync(line('b')).length);
  assert.deepEqual(
    seen.map(({ spans }) => spans),
    [0, 1],
  );
});
