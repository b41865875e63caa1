// Packs both packages as npm would publish them, checks what is inside, installs them into an empty folder, and uses
// them there on every supported Node: `.ci/package.mjs [--node 20,22,24,26]`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { installNodes } from './nodes.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'waitfall-package-'));
const { values } = parseArgs({ options: { node: { type: 'string', default: '20,22,24,26' } } });
/** The command needs this one; the instrumentation runs on older ones too. */
const COMMAND_FROM = 22;
const failures = [];

function run(command, args, { cwd = folder, env = {} } = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    shell: process.platform === 'win32' && command === 'npm',
    timeout: 120_000,
  });
  return { status, stdout: stdout ?? '', stderr: stderr ?? '' };
}

function check(what, holds, detail = '') {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`);
  if (!holds) failures.push(`${what}: ${detail}`);
}

/** A program of the root's node_modules, as a script. */
const tool = (path, args, cwd) => run(process.execPath, [join(root, 'node_modules', path), ...args], { cwd });

function pack(workspace) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, '-w', workspace];
  const packed = run('npm', args, { cwd: root });
  if (packed.status !== 0) throw new Error(packed.stderr);
  const report = JSON.parse(packed.stdout);
  const [{ name, filename, files, size, unpackedSize }] = Array.isArray(report)
    ? report
    : Object.values(report);
  const kB = (bytes) => `${(bytes / 1000).toFixed(0)} kB`;
  console.log(`     ${name}: ${kB(size)} packed, ${kB(unpackedSize)} unpacked, ${files.length} files`);
  return { path: join(folder, filename), files: files.map((file) => file.path) };
}

function checkContents(name, files, wanted) {
  for (const file of wanted) check(`${name} ships ${file}`, files.includes(file));
  const strange = files.filter((file) =>
    /(^|\/)(src|test|\.ci)\/.*(?<!\.d)\.[cm]?tsx?$|\.test\.|tsconfig|\.map$|\.tsbuildinfo$|fixtures/.test(
      file,
    ),
  );
  check(`${name} ships no development files`, strange.length === 0, strange.join(' '));
}

function checkPublication(workspace, { path }) {
  const lint = tool('publint/src/cli.js', ['--strict'], join(root, workspace));
  check(`publint ${workspace}`, lint.status === 0, lint.stdout);
  // Both are ES modules: CommonJS reads them with require() from Node 20.19 and 22.12 on, which is tried below.
  const types = tool(
    '@arethetypeswrong/cli/dist/index.js',
    [path, '--profile', 'esm-only', '--no-emoji'],
    root,
  );
  check(`are the types wrong? ${workspace}`, types.status === 0, types.stdout);
}

const SPAN = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  name: 'GET /',
  kind: 2,
  startTimeUnixNano: '1760000000000000000',
  endTimeUnixNano: '1760000000050000000',
};
const TRACE = { resourceSpans: [{ resource: {}, scopeSpans: [{ spans: [SPAN] }] }] };

/** A service that answers itself one request, in both module formats. */
const SERVICE = (load) => `${load}
const server = http.createServer((request, response) => response.end('hello')).listen(0, '127.0.0.1', async () => {
  await (await fetch('http://127.0.0.1:' + server.address().port + '/hello')).text();
  server.close();
  server.closeAllConnections();
});`;

const FILES = {
  'package.json': '{ "private": true, "type": "module" }',
  'traces.jsonl': `${JSON.stringify(TRACE)}\n`,
  'use.mjs': `import { analyze, buildReport, readInputs } from 'waitfall';
    import schema from 'waitfall/report.schema.json' with { type: 'json' };
    const report = buildReport(analyze(await readInputs(['traces.jsonl'])));
    console.log(report.requests.count, schema.title);`,
  'use.cjs': `const { analyze, readInputs } = require('waitfall');
    readInputs(['traces.jsonl']).then((input) => console.log(analyze(input).requests.count));`,
  'wait.mjs': `import { admission, WaitfallInstrumentation } from '@waitfall/instrumentation';
    console.log(typeof admission({ maxConcurrent: 1 }), typeof new WaitfallInstrumentation().enable);`,
  'wait.cjs': `const { admission, WaitfallInstrumentation } = require('@waitfall/instrumentation');
    console.log(typeof admission({ maxConcurrent: 1 }), typeof new WaitfallInstrumentation().enable);`,
  'service.mjs': SERVICE("import http from 'node:http';"),
  'service.cjs': SERVICE("const http = require('node:http');"),
  'types.mts': `import { analyze, buildReport, readInputs, type Report } from 'waitfall';
    import { admission } from '@waitfall/instrumentation';
    const report: Report = buildReport(analyze(await readInputs(['traces.jsonl'])));
    // @ts-expect-error: a count is a number
    const wrong: string = report.requests.count;
    // @ts-expect-error: slots are counted
    admission({ maxConcurrent: 'many' });
    console.log(wrong);`,
  'types.cts': `import waitfall = require('waitfall');
    import { admission } from '@waitfall/instrumentation';
    // @ts-expect-error: slots are counted
    admission({ maxConcurrent: 'many' });
    console.log(waitfall.parseObjective('p99<1s').p99Ns);`,
};

function checkInstrumentation(node, label) {
  for (const file of ['wait.mjs', 'wait.cjs']) {
    const used = run(node, [file]);
    check(`${label}: ${file}`, used.stdout === 'function function\n', used.stdout + used.stderr);
  }
  for (const [flag, file] of [
    ['--import', 'service.mjs'],
    ['--import', 'service.cjs'],
    ['--require', 'service.cjs'],
  ]) {
    const traces = join(folder, 'service.jsonl');
    rmSync(traces, { force: true });
    const args = [flag, '@waitfall/instrumentation/register', file];
    const served = run(node, args, { env: { WAITFALL_TRACE_FILE: traces, OTEL_SERVICE_NAME: 'hello' } });
    const spans = existsSync(traces) ? readFileSync(traces, 'utf8').split('"kind":2').length - 1 : 0;
    check(
      `${label}: node ${flag} …/register ${file}`,
      served.status === 0 && spans === 1,
      `${spans} server spans; ${served.stderr}`,
    );
  }
}

function checkCommand(node, label) {
  const bin = join(folder, 'node_modules', 'waitfall', 'bin', 'waitfall.js');
  const { version } = JSON.parse(readFileSync(join(root, 'analyzer/package.json'), 'utf8'));
  check(`${label}: waitfall --version`, run(node, [bin, '--version']).stdout === `${version}\n`);
  check(`${label}: waitfall --help`, run(node, [bin, '--help']).stdout.startsWith('Usage: waitfall'));
  const json = run(node, [bin, 'report', 'traces.jsonl', '--format', 'json']);
  check(
    `${label}: waitfall report`,
    json.status === 0 && JSON.parse(json.stdout).requests.count === 1,
    json.stderr,
  );
  const doctor = run(node, [bin, 'doctor', 'traces.jsonl']);
  check(`${label}: waitfall doctor`, doctor.status === 0 && doctor.stdout.includes('1 span'), doctor.stderr);
  const init = run(node, [bin, 'init']);
  check(`${label}: waitfall init`, init.status === 0 && init.stdout.includes('/register'), init.stderr);
  const used = run(node, ['use.mjs']);
  check(`${label}: import from waitfall`, used.stdout === '1 Waitfall report\n', used.stdout + used.stderr);
  const required = run(node, ['use.cjs']);
  check(`${label}: require of waitfall`, required.stdout === '1\n', required.stdout + required.stderr);
}

try {
  const analyzer = pack('analyzer');
  const instrumentation = pack('instrumentation');
  checkContents('waitfall', analyzer.files, [
    'bin/waitfall.js',
    'dist/main.js',
    'dist/index.js',
    'dist/tui-worker.js',
    'report.schema.json',
    'README.md',
    'LICENSE',
  ]);
  checkContents('@waitfall/instrumentation', instrumentation.files, [
    'dist/index.js',
    'dist/index.d.ts',
    'dist/register.js',
    'dist/conventions.js',
    'README.md',
    'LICENSE',
  ]);
  checkPublication('analyzer', analyzer);
  checkPublication('instrumentation', instrumentation);

  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  const packages = [analyzer.path, instrumentation.path, '@opentelemetry/api'];
  const installed = run('npm', ['install', '--no-audit', '--no-fund', ...packages]);
  check('both install into an empty folder', installed.status === 0, installed.stderr);
  const listed = run('npm', ['ls', '--all', '--parseable', 'waitfall']).stdout.trim().split('\n');
  check('the command brings no dependency of its own', listed.length <= 2, listed.join(' '));
  // npx runs the command on the first node of PATH, which may be too old for it.
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
  const npx = run('npm', ['exec', '--no', '--', 'waitfall', '--help'], { env: { PATH } });
  check('npx waitfall --help', npx.stdout.startsWith('Usage: waitfall'), npx.stderr);

  for (const [file, module, resolution] of [
    ['types.mts', 'nodenext', 'nodenext'],
    ['types.cts', 'nodenext', 'nodenext'],
    ['types.mts', 'node16', 'node16'],
    ['types.mts', 'esnext', 'bundler'],
  ]) {
    const options = ['--noEmit', '--strict', '--target', 'es2024', '--types', 'node'];
    const modules = ['--module', module, '--moduleResolution', resolution];
    const typeRoots = ['--typeRoots', join(root, 'node_modules/@types')];
    const types = tool('typescript/bin/tsc', [...options, ...modules, ...typeRoots, file], folder);
    check(`types in ${file}, resolved as ${resolution} does`, types.status === 0, types.stdout);
  }

  for (const [major, node] of installNodes(values.node.split(','), join(tmpdir(), 'waitfall-nodes'))) {
    const label = `Node ${major}`;
    checkInstrumentation(node, label);
    if (Number(major) >= COMMAND_FROM) {
      checkCommand(node, label);
      continue;
    }
    const refused = run(node, [join(folder, 'node_modules/waitfall/bin/waitfall.js'), '--version']);
    check(
      `${label}: waitfall says which Node it needs`,
      refused.status === 2 && /needs Node 22\.15/.test(refused.stderr),
      refused.stderr,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (failures.length > 0) {
  console.error(`\n${failures.join('\n')}`);
  process.exit(1);
}
