// Packs both packages as npm would publish them, installs them into an empty folder and uses them there, on the Node
// this script runs on.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'waitfall-package-'));
const failures = [];

function run(command, args, options = {}) {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` };
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    env,
    encoding: 'utf8',
    ...options,
  });
  return { status, stdout, stderr };
}

function check(what, holds, detail = '') {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`);
  if (!holds) failures.push(`${what}: ${detail}`);
}

function pack(workspace) {
  const packed = run(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', folder, '-w', workspace],
    {
      cwd: root,
    },
  );
  if (packed.status !== 0) throw new Error(packed.stderr);
  const report = JSON.parse(packed.stdout);
  const [{ filename, files, size }] = Array.isArray(report) ? report : Object.values(report);
  return { path: join(folder, filename), files: files.map((file) => file.path), size };
}

const TRACE = {
  resourceSpans: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
      scopeSpans: [
        {
          spans: [
            {
              traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
              spanId: '00f067aa0ba902b7',
              name: 'GET /',
              kind: 2,
              startTimeUnixNano: '1760000000000000000',
              endTimeUnixNano: '1760000000050000000',
            },
          ],
        },
      ],
    },
  ],
};

try {
  const analyzer = pack('analyzer');
  const instrumentation = pack('instrumentation');
  for (const file of [
    'bin/waitfall.js',
    'dist/main.js',
    'dist/index.js',
    'report.schema.json',
    'README.md',
    'LICENSE',
  ]) {
    check(`waitfall ships ${file}`, analyzer.files.includes(file));
  }
  for (const [name, files] of [
    ['waitfall', analyzer.files],
    ['@waitfall/instrumentation', instrumentation.files],
  ]) {
    const strange = files.filter((file) => /(^|\/)(src|test|\.ci)\/.*(?<!\.d)\.tsx?$|\.test\./.test(file));
    check(`${name} ships no sources and no tests`, strange.length === 0, strange.join(' '));
  }

  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const installed = run('npm', ['install', '--no-audit', '--no-fund', analyzer.path, instrumentation.path]);
  check('both install into an empty folder', installed.status === 0, installed.stderr);
  const listed = run('npm', ['ls', '--all', '--parseable', 'waitfall']).stdout.trim().split('\n');
  check('the command brings no dependency of its own', listed.length <= 2, listed.join(' '));

  writeFileSync(join(folder, 'traces.jsonl'), `${JSON.stringify(TRACE)}\n`);
  const { version } = JSON.parse(readFileSync(join(root, 'analyzer/package.json'), 'utf8'));
  const bin = join(folder, 'node_modules/.bin/waitfall');
  check('waitfall --version', run(bin, ['--version']).stdout === `${version}\n`);
  const json = run(bin, ['report', 'traces.jsonl', '--format', 'json']);
  check('waitfall report', json.status === 0 && JSON.parse(json.stdout).requests.count === 1, json.stderr);

  writeFileSync(
    join(folder, 'use.mjs'),
    `import { analyze, buildReport, readInputs } from 'waitfall';
     import schema from 'waitfall/report.schema.json' with { type: 'json' };
     const report = buildReport(analyze(await readInputs(['traces.jsonl'])));
     console.log(report.requests.count, schema.title);`,
  );
  const used = run(process.execPath, ['use.mjs']);
  check('import from waitfall', used.stdout === '1 Waitfall report\n', used.stdout + used.stderr);

  writeFileSync(
    join(folder, 'use.ts'),
    `import { analyze, buildReport, readInputs, type Report } from 'waitfall';
     const report: Report = buildReport(analyze(await readInputs(['traces.jsonl'])));
     // @ts-expect-error: a count is a number
     const wrong: string = report.requests.count;
     console.log(wrong);`,
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const types = run(process.execPath, [
    tsc,
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--types',
    'node',
    '--typeRoots',
    join(root, 'node_modules/@types'),
    'use.ts',
  ]);
  check('types of waitfall', types.status === 0, types.stdout);

  writeFileSync(
    join(folder, 'use.cjs'),
    `const { admission, WaitfallInstrumentation } = require('@waitfall/instrumentation');
     console.log(typeof admission({ maxConcurrent: 1 }), typeof new WaitfallInstrumentation().enable);`,
  );
  const required = run(process.execPath, ['use.cjs']);
  check('require of @waitfall/instrumentation', required.stdout === 'function function\n', required.stderr);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (failures.length > 0) {
  console.error(`\n${failures.join('\n')}`);
  process.exit(1);
}
