// Builds both packages: @waitfall/instrumentation as plain modules (it loads into other people's services,
// file by file), the waitfall command bundled (a cold start reads three files instead of a thousand).
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const at = (path) => new URL(`../${path}`, import.meta.url);

function tsc(project) {
  const bin = fileURLToPath(at('node_modules/typescript/bin/tsc'));
  const run = spawnSync(process.execPath, [bin, '-p', project], { cwd: root, stdio: 'inherit' });
  if (run.status !== 0) process.exit(run.status ?? 1);
}

rmSync(at('instrumentation/dist'), { recursive: true, force: true });
tsc('instrumentation/tsconfig.build.json');

rmSync(at('analyzer/dist'), { recursive: true, force: true });
const { version } = JSON.parse(readFileSync(at('analyzer/package.json'), 'utf8'));
const entryPoints = [
  { in: 'analyzer/src/cli/main.ts', out: 'main' },
  { in: 'analyzer/src/index.ts', out: 'index' },
  { in: 'analyzer/src/tui/worker.ts', out: 'tui-worker' },
];
await build({
  absWorkingDir: root,
  entryPoints,
  outdir: 'analyzer/dist',
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
tsc('analyzer/tsconfig.build.json');
// The command never installs the instrumentation package, so its types must not name it either.
const types = fileURLToPath(at('analyzer/dist/types'));
for (const file of globSync('**/*.d.ts', { cwd: types })) {
  const path = `${types}/${file}`;
  const text = readFileSync(path, 'utf8');
  const own = `./${relative(dirname(path), `${types}/instrumentation/src/conventions.js`)}`;
  const next = text.replaceAll('@waitfall/instrumentation/conventions', own);
  if (next !== text) writeFileSync(path, next);
}
