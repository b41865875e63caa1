/**
 * Keeps a run of the case study as the one that the READMEs show:
 * `node --conditions=waitfall-source test/docs/keep-run.ts runs/RUN`, then UPDATE_DOCS=1 npm run test:unit -- docs.
 * Take one that no other program disturbed.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, zstdCompressSync } from 'node:zlib';

const from = process.argv[2];
if (from === undefined) throw new Error('name the run directory: keep-run.ts runs/RUN');
const load = readFileSync(join(from, 'load.json'), 'utf8');
if (/"disturbed": *true/.test(load))
  throw new Error(`${from}: other programs disturbed this run; take another`);

const to = fileURLToPath(new URL('../../docs/example/sign-up', import.meta.url));
rmSync(to, { recursive: true, force: true });
mkdirSync(to, { recursive: true });
copyFileSync(join(from, 'load.json'), join(to, 'load.json'));
// Which system it ran on is nobody's business; processor and versions explain the numbers.
const manifest = JSON.parse(readFileSync(join(from, 'manifest.json'), 'utf8'));
delete manifest.machine.system;
writeFileSync(join(to, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
for (const name of ['traces.jsonl', 'traces-load.jsonl']) {
  const params = { [constants.ZSTD_c_compressionLevel]: 19, [constants.ZSTD_c_windowLog]: 24 };
  writeFileSync(join(to, `${name}.zst`), zstdCompressSync(readFileSync(join(from, name)), { params }));
}
