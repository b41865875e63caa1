// Builds the minimal collector of builder.yaml into _build/otelcol-waitfall.
//
//   npm run collector:build
//
// OTELCOL_BIN=<path> uses that binary instead and builds nothing. Go's module and build caches stay where Go keeps
// them, so the first build takes minutes (it downloads several hundred MB) and the following ones seconds.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const binary = join(here, '_build', 'otelcol-waitfall');
const stamp = join(here, '_build', 'built-from');

/** Everything the binary is made of, so that a change of any of it builds again. */
function sourcesDigest() {
  const digest = createHash('sha256');
  for (const file of ['builder.yaml', ...globSync('otlpjsonfile/*', { cwd: here }).sort()]) {
    digest.update(`${file}\n`).update(readFileSync(join(here, file)));
  }
  return digest.digest('hex');
}

function fail(text, code = 1) {
  console.error(text);
  process.exit(code);
}

function versionOf(path) {
  const run = spawnSync(path, ['--version'], { encoding: 'utf8' });
  if (run.status !== 0) fail(`${path} does not run: ${run.error?.message ?? run.stderr}`);
  return run.stdout.trim();
}

if (process.env.OTELCOL_BIN) {
  console.log(`using OTELCOL_BIN: ${versionOf(process.env.OTELCOL_BIN)}`);
  process.exit(0);
}

const digest = sourcesDigest();
if (existsSync(binary) && existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) {
  console.log(`up to date: ${versionOf(binary)} at ${binary}`);
  process.exit(0);
}

if (spawnSync('go', ['version']).status !== 0) {
  fail('Go is not installed: install Go 1.25 or newer, or set OTELCOL_BIN to an otelcol-contrib binary.', 3);
}
const version = /^ {2}version: (\S+)$/m.exec(readFileSync(join(here, 'builder.yaml'), 'utf8'))?.[1];
if (!version) fail('builder.yaml names no dist.version: add the release that its modules come from.');

mkdirSync(join(here, '_build'), { recursive: true });
const started = Date.now();
const build = spawnSync(
  'go',
  ['run', `go.opentelemetry.io/collector/cmd/builder@v${version}`, '--config', 'builder.yaml'],
  { cwd: here, stdio: 'inherit', env: { ...process.env, CGO_ENABLED: '0' } },
);
if (build.status !== 0)
  fail(`the collector builder failed (${build.error?.message ?? `exit code ${build.status}`})`);
writeFileSync(stamp, digest);
console.log(`built ${versionOf(binary)} in ${Math.round((Date.now() - started) / 1000)} s at ${binary}`);
