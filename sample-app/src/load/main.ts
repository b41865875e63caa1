/**
 * The load generator as a command; usable against any HTTP service.
 *
 *   npm run load -- --manifest FILE --url http://127.0.0.1:8080 [--out DIR] [--watch NAME=PID]… [--no-spans]
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ClientSpanWriter } from './client-spans.ts';
import { generatorWarnings, progressLine, STEP_HEADER, stepLine } from './format.ts';
import { Generator, type Progress } from './generator.ts';
import { loadFile } from './load-file.ts';
import { manifestHash, plannedSeconds, readManifest } from './manifest.ts';
import type { StepResult } from './step-recorder.ts';

/** What the process tells its parent, when there is one. */
export type LoadMessage =
  | { readonly progress: Progress }
  | { readonly step: StepResult; readonly index: number }
  | { readonly done: true };

const HELP = `usage: npm run load -- --manifest FILE --url URL [options]

  --manifest FILE   the load: steps, request mix, seed (JSON or YAML); - reads it from standard input
  --url URL         the service
  --out DIR         where load.json and the client's spans go (default: .)
  --watch NAME=PID  record the CPU use of a process and its children; may be repeated
  --no-spans        do not write the client's spans
  --help            this text
`;

const { values } = parseArgs({
  options: {
    manifest: { type: 'string' },
    url: { type: 'string' },
    out: { type: 'string', default: '.' },
    watch: { type: 'string', multiple: true, default: [] },
    'no-spans': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
if (!values.manifest || !values.url) {
  process.stderr.write(`--manifest and --url are needed\n\n${HELP}`);
  process.exit(2);
}

const watch = Object.fromEntries(
  values.watch.map((entry) => {
    const [name, pid] = entry.split('=');
    if (!name || !Number(pid)) throw new Error(`--watch wants NAME=PID, not "${entry}"`);
    return [name, Number(pid)];
  }),
);
const manifest = await readManifest(values.manifest);
const target = new URL(values.url);
const tell = (message: LoadMessage) => process.send?.(message);
const print = (line: string) => {
  if (!process.send) process.stdout.write(`${line}\n`);
};

await mkdir(values.out, { recursive: true });
const spans = values['no-spans']
  ? undefined
  : await ClientSpanWriter.open(join(values.out, 'traces-load.jsonl'), target, manifest.attempts > 1);
const generator = new Generator(manifest, {
  target,
  watch,
  ...(spans ? { spans } : {}),
  onStep: (step, index) => {
    tell({ step, index });
    print(stepLine(step));
  },
});
let interrupted = false;
const interrupt = () => {
  interrupted = true;
  generator.interrupt();
};
process.on('SIGTERM', interrupt);
process.on('SIGINT', interrupt);
process.on('disconnect', interrupt);

print(
  `load "${manifest.name}" (${manifestHash(manifest)}) on ${target.origin}: ${plannedSeconds(manifest)} s`,
);
print(STEP_HEADER);
const ticker = setInterval(() => {
  const progress = generator.progress();
  tell({ progress });
  if (!process.send && process.stderr.isTTY) process.stderr.write(`\r\x1b[K${progressLine(progress)}\r`);
}, 1000);
const steps = await generator.run();
clearInterval(ticker);
await spans?.close();
const result = loadFile(manifest, steps, generator.conservation(), interrupted);
await writeFile(join(values.out, 'load.json'), `${JSON.stringify(result, null, 2)}\n`);
for (const warning of generatorWarnings(steps)) print(`warning: ${warning}`);
print(`written: ${join(values.out, 'load.json')}`);
tell({ done: true });
process.exit(interrupted ? 130 : 0);
