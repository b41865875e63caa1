import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { otlp, signup, traceId } from '../report/otlp.ts';
import { waitfall } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'waitfall-cli-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, content: string) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const good = file('good.jsonl', `${otlp(signup(1, 0))}\n${otlp(signup(2, 5_000_000))}\n`);
const cut = file('cut.jsonl', `${otlp(signup(3, 0))}\n{"resourceSpans":[{"scope`);
const metrics = file(
  'metrics.json',
  '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"asInt":"7","timeUnixNano":"1760000000000000000"},{"asInt":"8","timeUnixNano":"1760000001000000000"}]}}]}]}]}',
);

test('0: answered; a cut file is answered too, and says so', async () => {
  const whole = await waitfall(['report', good]);
  assert.equal(whole.code, 0, whole.stderr);
  assert.equal(whole.stderr, '');
  const partial = await waitfall(['report', cut]);
  assert.equal(partial.code, 0);
  assert.match(partial.stdout, /Rejected \(1\)\n {2}- .*cut\.jsonl, line 2: /);
});

test('1: no usable trace, with the counts and one line a file', async () => {
  const { code, stdout } = await waitfall(['report', metrics]);
  assert.equal(code, 1);
  assert.match(stdout, /^No usable trace in the input$/m);
  assert.match(stdout, /^0 span records, 1 metric with 2 data points, 0 log records, 0 profiles$/m);
  assert.match(stdout, /metrics\.json: .*0 spans/);
  const json = await waitfall(['report', metrics, '--format', 'json']);
  assert.equal(json.code, 1);
  assert.deepEqual(JSON.parse(json.stdout).input.metrics, { metrics: 1, dataPoints: 2 });
});

test('2: wrong use, said in one sentence with what to do', async () => {
  const cases: [string[], RegExp][] = [
    [['report', join(folder, 'missing.json')], /missing\.json: no such file or directory/],
    [['reprot'], /did you mean the command 'report'\?/],
    [['report', good, '--formt', 'json'], /Did you mean --format\?/],
    [['report', good, '--format', 'xml'], /Allowed choices are text, json, markdown, requests/],
    [
      ['report', good, '--tolerance', '3 parsecs'],
      /--tolerance '3 parsecs' is not understood; write a duration/,
    ],
    [['report', good, '--threads', 'many'], /--threads 'many' is not understood; write a number/],
    [['report', good, '--from', 'yesterday'], /--from 'yesterday' is not understood; write a time/],
    [['report', good, '--objective', 'p42<1ms'], /p42<1ms/],
    [['report', good, '--what-if', 'more servers'], /--what-if: change 'more servers' is not understood/],
    [
      ['report', good, '--from', '2031-01-01'],
      /no request starts between --from and --to; .* from 2025-10-09T08:53:20\.000Z to /,
    ],
    [
      ['report', good, '--route', '/nowhere'],
      /no request has the route '\/nowhere'; the input has POST \/signup/,
    ],
    [['report', good, '--load', good], /load plan|not JSON/],
    [['size', good, '--wait', '5ms'], /--rate/],
    [['size', good, '--wait', '5ms', '--rate', 'many'], /--rate 'many' is not understood/],
    [['report', good, '-o', join(folder, 'no', 'such', 'folder.txt')], /cannot be written/],
  ];
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await waitfall(args);
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, message);
    assert.match(stderr, /^waitfall: /);
    assert.doesNotMatch(stderr, /\n {4}at /, 'no stack trace');
    assert.equal(stdout, '');
  }
});

test('4: partly unreadable input under --strict, after the answer', async () => {
  const { code, stdout } = await waitfall(['report', cut, '--strict']);
  assert.equal(code, 4);
  assert.match(stdout, /1 request in 1 trace/);
  assert.equal((await waitfall(['report', good, '--strict'])).code, 0);
});

test('standard input is an input, flags may stand before the command, -o writes a file', async () => {
  const piped = await waitfall(['--ascii', 'report'], { stdin: otlp(signup(1, 0)) });
  assert.equal(piped.code, 0, piped.stderr);
  assert.match(piped.stdout, /^standard input: /);
  assert.match(piped.stdout, /^[\n -~]*$/);
  const out = join(folder, 'report.md');
  const written = await waitfall(['report', good, '--format', 'markdown', '-o', out]);
  assert.deepEqual([written.code, written.stdout], [0, '']);
  assert.match(readFileSync(out, 'utf8'), /^# Waitfall report\n/);
});

test('without a terminal the bare command prints the text report', async () => {
  const bare = await waitfall([good]);
  const report = await waitfall(['report', good]);
  assert.equal(bare.code, 0);
  assert.equal(bare.stdout, report.stdout);
});

test('--route and --from limit the requests', async () => {
  const { stdout } = await waitfall([
    'report',
    good,
    '--format',
    'requests',
    '--from',
    '1760000000000000004',
  ]);
  assert.deepEqual(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).traceId),
    [traceId(2)],
  );
  const route = await waitfall(['report', good, '--route', '/signup', '--format', 'json']);
  assert.equal(JSON.parse(route.stdout).requests.count, 2);
});

test('trace finds a trace by the start of its id', async () => {
  const { code, stdout } = await waitfall(['trace', traceId(2), good]);
  assert.equal(code, 0);
  assert.match(stdout, /POST \/signup: 60 ms, success/);
  const both = await waitfall(['trace', '4b00', good]);
  assert.equal(both.code, 1);
  assert.match(both.stderr, /2 traces start with 4b00/);
  assert.equal((await waitfall(['trace', 'beef', good])).code, 1);
});

test('--help and --version answer at once and name every option', async () => {
  const help = await waitfall(['--help']);
  assert.equal(help.code, 0);
  for (const word of [
    'report',
    'trace',
    'size',
    '--objective',
    '--what-if',
    'Exit codes: 0 answered',
    'Examples:',
  ]) {
    assert.ok(help.stdout.includes(word), word);
  }
  const { code, stdout } = await waitfall(['report', '--help']);
  assert.equal(code, 0);
  assert.match(stdout, /Examples:/);
  assert.match((await waitfall(['--version'])).stdout, /^\d+\.\d+\.\d+/);
});

test('the README names exactly the options that exist', async () => {
  const readme = readFileSync(new URL('../../../analyzer/README.md', import.meta.url), 'utf8');
  const table = readme.slice(readme.indexOf('| option'), readme.indexOf('Exit codes:'));
  const named = new Set(table.match(/--[a-z-]{2,}[a-z]/g));
  const help = (await waitfall(['report', '--help'])).stdout;
  const options = new Set(
    help.slice(0, help.indexOf('--format requests prints')).match(/--[a-z-]{2,}[a-z]/g),
  );
  for (const elsewhere of ['--format', '--output', '--help', '--version']) {
    options.delete(elsewhere);
    named.delete(elsewhere);
  }
  assert.deepEqual([...named].sort(), [...options].sort());
});
