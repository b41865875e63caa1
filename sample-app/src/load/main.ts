/**
 * The load generator as a command; usable against any HTTP service.
 *
 *   npm run load -- --manifest FILE --url http://127.0.0.1:8080 [--out DIR] [--watch NAME=PID]… [--no-spans]
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { workingDirectory } from '../run/working-directory.ts';
import { ClientSpanWriter } from './client-spans.ts';
import { generatorWarnings, progressLine, STEP_HEADER, stepLine } from './format.ts';
import { Generator, type Progress } from './generator.ts';
import { loadFile } from './load-file.ts';
import { type LoadManifest, manifestHash, plannedSeconds, readManifest } from './manifest.ts';
import { judgeObjective, objectiveLine } from './objective.ts';
import type { StepResult } from './step-recorder.ts';

/** What the process tells its parent, when there is one. */
export type LoadMessage =
  | { readonly progress: Progress }
  | { readonly step: StepResult; readonly index: number };

const EXIT_USAGE = 2;
const EXIT_INTERRUPTED = 130;

const HELP = `usage: npm run load -- --manifest FILE --url URL [options]

  --manifest FILE   the load: steps, request mix, seed (JSON or YAML); - reads it from standard input
  --url URL         the service
  --out DIR         where load.json and the client's spans go (default: .)
  --watch NAME=PID  record the CPU use of a process and its children; may be repeated
  --no-spans        do not write the client's spans
  --help            this text
`;

interface LoadOptions {
  readonly manifest: LoadManifest;
  readonly target: URL;
  readonly out: string;
  readonly watch: Readonly<Record<string, number>>;
  readonly writeSpans: boolean;
}

/** @returns null when only the help was asked for; throws for a command line that makes no sense. */
async function readOptions(): Promise<LoadOptions | null> {
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
  if (values.help) return null;
  if (!values.manifest || !values.url) throw new Error('--manifest and --url are needed');
  if (!URL.canParse(values.url))
    throw new Error(`--url wants a URL such as http://127.0.0.1:8080, not "${values.url}"`);
  const watch = values.watch.map((entry) => {
    const [name, pid] = entry.split('=');
    if (!name || !Number(pid)) throw new Error(`--watch wants NAME=PID, not "${entry}"`);
    return [name, Number(pid)] as const;
  });
  const { manifest } = values;
  return {
    manifest: await readManifest(manifest === '-' ? manifest : resolve(workingDirectory, manifest)),
    target: new URL(values.url),
    out: resolve(workingDirectory, values.out),
    watch: Object.fromEntries(watch),
    writeSpans: !values['no-spans'],
  };
}

const tell = (message: LoadMessage) => process.send?.(message);
const print = (line: string) => {
  if (!process.send) process.stdout.write(`${line}\n`);
};

/** Offers the load and writes its result. @returns the exit code. */
async function run({ manifest, target, out, watch, writeSpans }: LoadOptions): Promise<number> {
  await mkdir(out, { recursive: true });
  const spans = writeSpans
    ? await ClientSpanWriter.open(join(out, 'traces-load.jsonl'), target, manifest.attempts > 1)
    : undefined;
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
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) {
    process.on(event, () => {
      interrupted = true;
      generator.interrupt();
    });
  }
  print(
    `load "${manifest.name}" (${manifestHash(manifest)}) on ${target.origin}: ${plannedSeconds(manifest)} s`,
  );
  print(STEP_HEADER);
  const ticker = setInterval(() => {
    const progress = generator.progress();
    if (progress === null) return;
    tell({ progress });
    if (!process.send && process.stderr.isTTY) process.stderr.write(`\r\x1b[K${progressLine(progress)}\r`);
  }, 1000);
  const steps = await generator.run();
  clearInterval(ticker);
  await spans?.close();
  const result = loadFile(manifest, steps, generator.conservation(), interrupted);
  await writeFile(join(out, 'load.json'), `${JSON.stringify(result, null, 2)}\n`);
  for (const warning of generatorWarnings(steps)) print(`warning: ${warning}`);
  for (const result of judgeObjective(manifest.objective, steps)) print(objectiveLine(result));
  print(`written: ${join(out, 'load.json')}`);
  return interrupted ? EXIT_INTERRUPTED : 0;
}

try {
  const options = await readOptions();
  if (options === null) process.stdout.write(HELP);
  process.exit(options === null ? 0 : await run(options));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(EXIT_USAGE);
}
