// Builds both packages: @waitfall/instrumentation as plain modules (it loads into other people's services,
// file by file), the waitfall command bundled (a cold start reads three files instead of a thousand).
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Builds next to the old output and swaps at the end: a command that runs meanwhile never finds half a build. */
async function replaceOutput(folder, make) {
  const next = at(`${folder}.${process.pid}`);
  try {
    await make(next);
    rmSync(at(folder), { recursive: true, force: true });
    renameSync(next, at(folder));
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

function tsc(project, outDir) {
  const bin = at('node_modules/typescript/bin/tsc');
  const run = spawnSync(process.execPath, [bin, '-p', project, '--outDir', outDir], {
    cwd: root,
    stdio: 'inherit',
  });
  if (run.status !== 0) throw new Error(`${project} does not compile`);
}

/** The command never installs the instrumentation package, so its types must not name it either. */
function inlineConventions(types) {
  mkdirSync(`${types}/instrumentation/src`, { recursive: true });
  cpSync(at('instrumentation/dist/conventions.d.ts'), `${types}/instrumentation/src/conventions.d.ts`);
  for (const file of globSync('**/*.d.ts', { cwd: types })) {
    const path = `${types}/${file}`;
    const text = readFileSync(path, 'utf8');
    const own = `${relative(dirname(path), `${types}/instrumentation/src/conventions.js`)}`;
    const next = text.replaceAll('@waitfall/instrumentation/conventions', own);
    if (next !== text) writeFileSync(path, next);
  }
}

async function buildAnalyzer(outdir) {
  const { version } = JSON.parse(readFileSync(at('analyzer/package.json'), 'utf8'));
  await build({
    absWorkingDir: root,
    entryPoints: [
      { in: 'analyzer/src/cli/main.ts', out: 'main' },
      { in: 'analyzer/src/index.ts', out: 'index' },
      { in: 'analyzer/src/tui/worker.ts', out: 'tui-worker' },
      { in: 'analyzer/src/read/range-worker.ts', out: 'read-worker' },
      { in: 'analyzer/src/infer/part-worker.ts', out: 'part-worker' },
    ],
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    jsx: 'automatic',
    minifySyntax: true,
    conditions: ['waitfall-source'],
    define: { 'process.env.NODE_ENV': '"production"', __WAITFALL_VERSION__: JSON.stringify(version) },
    // Bundled CommonJS dependencies still call require() for Node's own modules.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
    // Ink imports its developer tools statically but uses them only when DEV is set; they are not shipped.
    alias: { 'react-devtools-core': './scripts/empty.mjs' },
    logLevel: 'warning',
  });
  tsc('analyzer/tsconfig.build.json', `${outdir}/types`);
  inlineConventions(`${outdir}/types`);
}

const failures = [];
for (const [folder, make] of [
  ['instrumentation/dist', (out) => tsc('instrumentation/tsconfig.build.json', out)],
  ['analyzer/dist', buildAnalyzer],
]) {
  try {
    await replaceOutput(folder, make);
  } catch (error) {
    failures.push(`${folder}: ${error.message}`);
  }
}
if (failures.length > 0) {
  console.error(`build failed\n${failures.join('\n')}`);
  process.exitCode = 1;
}
