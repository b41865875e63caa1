// Runs the tests with node:test on the TypeScript sources themselves.
// `npm run test:unit -- analyzer/partition` runs only the files whose path contains one of the words.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const words = process.argv.slice(2).filter((word) => !word.startsWith('-'));
const flags = process.argv.slice(2).filter((word) => word.startsWith('-'));
const files = globSync('test/**/*.test.{ts,tsx}', { cwd: root })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort();
if (files.length === 0) {
  console.error(`no test file matches ${words.join(' ')}`);
  process.exit(1);
}
const run = spawnSync(
  process.execPath,
  [
    '--conditions=waitfall-source',
    '--import',
    './scripts/tsx-loader.mjs',
    '--test',
    '--test-concurrency=2',
    ...flags,
    ...files,
  ],
  { cwd: root, stdio: 'inherit', env: { ...process.env, NODE_ENV: 'test' } },
);
process.exit(run.status ?? 1);
