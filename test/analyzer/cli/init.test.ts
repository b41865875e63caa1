import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { LIBRARIES } from '../../../analyzer/src/cli/init/libraries.ts';
import { planSetUp, type SetUp } from '../../../analyzer/src/cli/init/plan.ts';
import { type Project, readProject } from '../../../analyzer/src/cli/init/project.ts';
import { waitfall } from './command.ts';

const folder = mkdtempSync(join(tmpdir(), 'waitfall-init-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
/** A project folder with these files; package.json is given as an object. */
function project(manifest: object, files: Readonly<Record<string, string>> = {}): string {
  const at = join(folder, `project-${made++}`);
  for (const [name, content] of Object.entries({
    'package.json': JSON.stringify(manifest, null, 4),
    ...files,
  })) {
    mkdirSync(dirname(join(at, name)), { recursive: true });
    writeFileSync(join(at, name), content);
  }
  return at;
}

const read = (
  manifest: object,
  files?: Readonly<Record<string, string>>,
): { project: Project; plan: SetUp; lines: string } => {
  const found = readProject(project(manifest, files));
  const plan = planSetUp(found, 'linux');
  return { project: found, plan, lines: plan.steps.flatMap(({ lines }) => lines).join('\n') };
};

test('an express and pg service without OpenTelemetry gets one flag', () => {
  const {
    project: found,
    plan,
    lines,
  } = read(
    {
      name: 'orders',
      type: 'module',
      scripts: { start: 'node --enable-source-maps src/server.js' },
      dependencies: { express: '^5.0.0', pg: '^8.11.0' },
    },
    { 'package-lock.json': '{}', 'node_modules/pg/package.json': '{ "version": "8.23.1" }' },
  );
  assert.deepEqual(
    [found.modules, found.packageManager, found.start?.entry],
    ['ES modules', 'npm', 'src/server.js'],
  );
  assert.deepEqual(found.libraries, [
    { name: 'express', version: '^5.0.0' },
    { name: 'pg', version: '8.23.1' },
  ]);
  assert.equal(
    plan.script,
    'node --enable-source-maps --import @waitfall/instrumentation/register src/server.js',
  );
  assert.match(lines, /^npm install @waitfall\/instrumentation @opentelemetry\/api$/m);
  assert.match(
    lines,
    /^OTEL_SERVICE_NAME=orders WAITFALL_TRACE_FILE=traces\.jsonl node --enable-source-maps --import @waitfall/m,
  );
  assert.match(lines, /^import \{ admission \} from '@waitfall\/instrumentation';$/m);
});

test('an existing set-up in code gets two lines there, in its own module format', () => {
  const sdk = { '@opentelemetry/sdk-node': '0.200.0', koa: '3' };
  const {
    project: found,
    lines,
    plan,
  } = read(
    { dependencies: sdk, scripts: { start: 'node -r ./src/tracing.js app.js' } },
    { 'src/tracing.js': "const { NodeSDK } = require('@opentelemetry/sdk-node');\nnew NodeSDK({}).start();" },
  );
  assert.equal(found.telemetry.file, join('src', 'tracing.js'));
  assert.deepEqual([found.start?.entry, found.start?.nodeFlags], ['app.js', '-r ./src/tracing.js']);
  assert.match(
    lines,
    /const \{ FileSpanProcessor, WaitfallInstrumentation, WaitfallSpanProcessor \} = require\(/,
  );
  assert.match(lines, /new WaitfallSpanProcessor\(new FileSpanProcessor\('traces\.jsonl'\)\)/);
  assert.match(lines, /koaAdmission/);
  assert.equal(plan.script, null);
  assert.doesNotMatch(lines, /--import/);
});

test('beside a set-up in code the end of the process and routes of ES modules need a line', () => {
  const notes = (type: string) =>
    read(
      { type, dependencies: { express: '5', '@opentelemetry/sdk-node': '0.223.0' } },
      { 'telemetry.mjs': "import { NodeSDK } from '@opentelemetry/sdk-node'; new NodeSDK().start();" },
    ).plan.notes.join('\n');
  assert.match(notes('module'), /sdk\.shutdown\(\)/);
  assert.match(notes('module'), /instrumentation\/hook\.mjs/);
  assert.doesNotMatch(notes('commonjs'), /hook\.mjs/);
});

test('a distribution is loaded before ours; a vendor agent, a bundler and another runtime are named', () => {
  const auto = read({
    dependencies: { '@opentelemetry/auto-instrumentations-node': '1', fastify: '5' },
    scripts: {
      start: 'node --require @opentelemetry/auto-instrumentations-node/register --inspect server.js',
      build: 'esbuild --bundle src/server.ts',
    },
  });
  assert.equal(auto.plan.script, 'node --inspect --import @waitfall/instrumentation/register server.js');
  assert.match(
    auto.lines,
    /^node --require @opentelemetry\/auto-instrumentations-node\/register --inspect --import @waitfall\/instrumentation\/register server\.js$/m,
  );
  const later = read({
    dependencies: { '@opentelemetry/auto-instrumentations-node': '1' },
    scripts: { start: 'node server.js' },
  });
  assert.match(
    later.lines,
    /^node --import @opentelemetry\/auto-instrumentations-node\/register --import @waitfall/m,
  );
  assert.match(auto.plan.notes.join('\n'), /esbuild builds it: .* keep pg and express external/);
  assert.match(auto.lines, /fastifyAdmission/);
  const vendor = read(
    { dependencies: { 'dd-trace': '5', redis: '1' }, scripts: { start: 'nest start' } },
    { 'yarn.lock': '' },
  );
  assert.equal(vendor.plan.script, 'NODE_OPTIONS="--import @waitfall/instrumentation/register" nest start');
  assert.match(vendor.plan.notes.join('\n'), /dd-trace patches the same libraries/);
  assert.match(vendor.plan.notes.join('\n'), /yarn add @opentelemetry\/instrumentation-redis/);
  assert.match(vendor.lines, /^yarn add @waitfall/m);
});

test('what a start script runs is told from what it runs it with', () => {
  const entry = (start: string) => {
    const { entry, nodeFlags, args } = readProject(project({ scripts: { start } })).start!;
    return [entry, nodeFlags, args];
  };
  assert.deepEqual(entry('NODE_ENV=production node app.js'), ['app.js', '', '']);
  assert.deepEqual(entry('npm run build && cross-env A=1 node --import tsx dist/app.js --port 80'), [
    'dist/app.js',
    '--import tsx',
    '--port 80',
  ]);
  assert.deepEqual(entry('next start'), [null, '', '']);
});

test('old versions of Node are named, and only those', () => {
  const noted = (node: string) =>
    read({ engines: { node } }).plan.notes.some((note) => note.includes('20.19 or newer'));
  for (const old of ['18', '18.x', '^16 || ^18', '14.17.0']) assert.ok(noted(old), old);
  for (const fine of ['>=18', '20.x', '^18 || ^20', '22', 'lts/*']) assert.ok(!noted(fine), fine);
});

test('on Windows the lines are those of PowerShell', () => {
  const found = readProject(project({ scripts: { start: 'nest start' } }));
  const lines = planSetUp(found, 'win32').steps.flatMap((step) => step.lines);
  assert.ok(lines.includes("$env:WAITFALL_TRACE_FILE = 'traces.jsonl'"));
  assert.ok(lines.includes("$env:NODE_OPTIONS = '--import @waitfall/instrumentation/register'"));
});

test('prints and changes nothing; --write adds one script and keeps the rest', async () => {
  const at = project({ name: 'orders', scripts: { start: 'node server.js' }, dependencies: { pg: '8' } });
  const before = readFileSync(join(at, 'package.json'), 'utf8');
  const printed = await waitfall(['init', at]);
  assert.equal(printed.code, 0, printed.stderr);
  assert.match(printed.stdout, /^Project orders$/m);
  assert.match(printed.stdout, /^ {2}pg 8 {2}pool waits, new connections, holds, row locks, statements$/m);
  assert.equal(readFileSync(join(at, 'package.json'), 'utf8'), before);
  const written = await waitfall(['init', '--write'], { cwd: at });
  assert.equal(written.code, 0);
  assert.match(written.stderr, /added the script start:waitfall/);
  const after = readFileSync(join(at, 'package.json'), 'utf8');
  assert.match(after, /^ {4}"name": "orders",$/m, 'the indentation is kept');
  const { scripts, ...rest } = JSON.parse(after);
  assert.match(scripts['start:waitfall'], /node --import @waitfall\/instrumentation\/register server\.js$/);
  assert.deepEqual({ ...rest, scripts: { start: scripts.start } }, JSON.parse(before));
  assert.match((await waitfall(['init', at, '--write'])).stderr, /has a script start:waitfall already/);
  assert.equal(readFileSync(join(at, 'package.json'), 'utf8'), after);
});

test('2: without a project there is nothing to look at', async () => {
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  const none = await waitfall(['init', empty]);
  assert.equal(none.code, 2);
  assert.match(none.stderr, /no package\.json here/);
  const broken = await waitfall(['init', project({}, { 'package.json': 'no json' })]);
  assert.match(broken.stderr, /package\.json: not readable as JSON/);
  const nothing = await waitfall(['init', project({}), '--write']);
  assert.equal(nothing.code, 2);
  assert.match(nothing.stderr, /no script was added/);
});

test('what a project calls itself cannot reach the terminal raw', async () => {
  const { stdout } = await waitfall([
    'init',
    project({ name: 'a\u001b]0;b\u0007\u202e', scripts: { start: 'node \u001b[2Jx.js' } }),
  ]);
  assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u202e]/);
});

test('whatever needs a package or a line of code says which', () => {
  for (const [name, { by, how }] of Object.entries(LIBRARIES)) {
    assert.equal(how !== undefined, by === 'official' || by === 'code', name);
  }
});
