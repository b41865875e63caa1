/**
 * The case study: puts the sign-up service under a growing load, variant by variant, and lets the analyzer say
 * from the service's own spans which queue filled first. `--help` lists the options.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { generatorWarnings } from '../load/format.ts';
import { manifestHash, plannedSeconds, readManifest } from '../load/manifest.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { VARIANTS, type VariantName } from '../service/variants.ts';
import { waitfall } from './analyzer.ts';
import { checkRuns, disturbance, disturbed, type JudgedRun } from './checks.ts';
import { Children } from './children.ts';
import { type CaseStudyOptions, HELP, readOptions, UsageError } from './options.ts';
import { type Predictions, predict } from './predictions.ts';
import { ProgressDisplay, TABLE_HEADER } from './progress.ts';
import { readReport } from './report-file.ts';
import { runVariant, type VariantRun } from './run-variant.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const EXIT_INTERRUPTED = 130;

/** Reports are printed whole for this many variants, and as their verdict line for more. */
const FULL_REPORTS = 2;

/** The short form ends within this time. */
const QUICK_SECONDS = 88;

const startedMs = Date.now();
/** npm changes to the folder of the package; the user stands elsewhere. */
const workingDirectory = process.env['INIT_CWD'] ?? process.cwd();

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function saySeconds(text: string): void {
  say(`[${((Date.now() - startedMs) / 1000).toFixed(0).padStart(3)} s] ${text}`);
}

/** Fulfilled when the user, or the death of the npm that started us, wants the run to end. */
const interrupted = new Promise<string>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve(signal));
  const parent = process.ppid;
  // npm passes a signal to its shell, and not every shell passes it on to us.
  if (process.env['npm_lifecycle_event']) {
    setInterval(() => process.ppid !== parent && resolve('npm ended'), 500).unref();
  }
});

async function runOne(
  options: CaseStudyOptions,
  variant: VariantName,
  database: Database,
  children: Children,
): Promise<VariantRun> {
  const manifest = await readManifest(options.manifestPath);
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  const directory = resolve(workingDirectory, options.runs, `${stamp}-${variant}`);
  await mkdir(directory, { recursive: true });
  say('');
  saySeconds(`${variant}: ${VARIANTS[variant].title}`);
  saySeconds(
    `load "${manifest.name}" (${manifestHash(manifest)}), ${plannedSeconds(manifest)} s, into ${shown(directory)}`,
  );
  say(TABLE_HEADER);
  const display = new ProgressDisplay(process.stdout);
  const run = await runVariant({
    variant,
    manifest,
    manifestPath: options.manifestPath,
    directory,
    database,
    children,
    registrations: options.registrations,
    stock: options.stock,
    onMessage: (message, sample) => display.show(message, sample),
  });
  for (const warning of generatorWarnings(run.load.steps)) say(`  warning: ${warning}`);
  for (const { name, holds, detail } of run.invariants)
    say(`  ${holds ? 'holds ' : 'BROKEN'}  ${name} (${detail})`);
  return run;
}

/** Lets the analyzer judge a run. @returns its text report, or null where it gave none. */
async function report(run: VariantRun): Promise<string | null> {
  const json = await waitfall(['report', run.directory, '--format', 'json']);
  if (json.exitCode === 0) await writeFile(join(run.directory, 'report.json'), json.output);
  const text = await waitfall(['report', run.directory]);
  if (text.exitCode !== 0) {
    say(
      `  the analyzer gave no report (exit code ${text.exitCode}): npx waitfall report ${shown(run.directory)}`,
    );
    return null;
  }
  await writeFile(join(run.directory, 'report.txt'), text.output);
  return text.output;
}

function shown(directory: string): string {
  return relative(workingDirectory, directory) || '.';
}

async function caseStudy(
  options: CaseStudyOptions,
  children: Children,
  opened: Database[],
): Promise<boolean> {
  const existing = process.env['DATABASE_URL'];
  saySeconds(existing ? 'using the PostgreSQL server of DATABASE_URL' : 'starting PostgreSQL');
  const database = await openDatabase(existing);
  opened.push(database);
  const judged: JudgedRun[] = [];
  let predictions: Predictions = new Map();
  let sound = true;
  for (const variant of options.variants) {
    if (options.quick && judged.length > 0 && !timeLeft(judged)) {
      say(`\n${variant} is left out: it would not end within ${QUICK_SECONDS} seconds`);
      continue;
    }
    const run = await runOne(options, variant, database, children);
    saySeconds('reading the traces');
    const text = await report(run);
    if (text !== null) say(`\n${options.variants.length > FULL_REPORTS ? verdictLine(text) : text}`);
    const answer = await readReport(run.directory);
    judged.push({ run, report: answer });
    if (variant === 'before' && answer) predictions = await predict(run.directory, answer, options.variants);
    sound &&= text !== null && run.invariants.every((invariant) => invariant.holds);
  }
  await printEvidence(judged);
  sound = printChecks(judged, predictions) && sound;
  say('\nLook closer:');
  for (const { run } of judged) say(`  npx waitfall ${shown(run.directory)}`);
  return sound;
}

/** @returns the one line of a text report that says which queue saturated first, or why none is named. */
function verdictLine(text: string): string {
  const line = text.split('\n').find((one) => /^(First saturating queue|No queue saturated)/.test(one));
  return `  ${line ?? 'no verdict line: see the report'}`;
}

/** Whether another variant ends within the time of the short form, going by the one before it. */
function timeLeft(judged: readonly JudgedRun[]): boolean {
  const elapsed = (Date.now() - startedMs) / 1000;
  return elapsed + (elapsed / judged.length) * 1.1 < QUICK_SECONDS;
}

/** The evidence record: what changed between the first two runs, by the analyzer. */
async function printEvidence(judged: readonly JudgedRun[]): Promise<void> {
  const [before, ...others] = judged;
  if (before?.run.variant !== 'before') return;
  for (const { run } of others) {
    const record = await waitfall(['compare', before.run.directory, run.directory]);
    if (record.exitCode !== 0) {
      say(`  the analyzer compared nothing (exit code ${record.exitCode})`);
      continue;
    }
    await writeFile(join(run.directory, 'evidence.txt'), record.output);
    say(`\n${record.output}`);
  }
}

/** @returns whether nothing failed that a quiet machine would have let succeed. */
function printChecks(judged: readonly JudgedRun[], predictions: Predictions): boolean {
  const checks = checkRuns(judged, predictions);
  if (checks.length === 0) return true;
  say('\nWhat these runs must show, from their own measurements:');
  let failed = false;
  for (const { variant, claim, holds, detail } of checks) {
    const disturbedRun = disturbed(judged.find(({ run }) => run.variant === variant)!.run);
    const mark =
      holds === null ? 'unknown  ' : holds ? 'holds    ' : disturbedRun ? 'disturbed' : 'FAILS    ';
    failed ||= holds === false && !disturbedRun;
    say(`  ${mark}  ${variant}: ${claim} (${detail})`);
  }
  for (const { run } of judged) {
    const text = disturbance(run.load.steps);
    if (text) say(`  ${run.variant}: ${text}; what does not hold there proves nothing`);
  }
  return !failed;
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2), workingDirectory);
  if (options === null) {
    process.stdout.write(HELP);
    return 0;
  }
  const children = new Children();
  const opened: Database[] = [];
  const work = caseStudy(options, children, opened);
  // A run that is given up fails in its own time; nobody waits for it any more.
  work.catch(() => {});
  try {
    const end = await Promise.race([work, interrupted]);
    if (typeof end === 'boolean') return end ? 0 : EXIT_FAILED;
    say(`\n${end}: stopping what was started`);
    return EXIT_INTERRUPTED;
  } finally {
    await children.stopAll();
    await Promise.all(opened.map((database) => database.close()));
    saySeconds('everything that was started is stopped');
  }
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`${error instanceof UsageError ? error.message : (error as Error).stack}\n`);
  process.exit(error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED);
}
