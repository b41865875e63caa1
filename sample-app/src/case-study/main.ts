/**
 * The case study: puts the sign-up service under a growing load, variant by variant, and lets the analyzer say
 * from the service's own spans which queue filled first. `--help` lists the options.
 */
import { generatorWarnings } from '../load/format.ts';
import { manifestHash, plannedSeconds, readManifest } from '../load/manifest.ts';
import { judgeObjective, type ObjectiveResult, objectiveLine } from '../load/objective.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { analyze, verdictLine } from '../run/analyzer.ts';
import type { Children } from '../run/children.ts';
import {
  elapsedSeconds,
  makeRunDirectory,
  type Running,
  runCommand,
  say,
  sayWithTime,
  shown,
} from '../run/command.ts';
import { VARIANTS, type VariantName } from '../service/variants.ts';
import { checkRuns, type JudgedRun } from './checks.ts';
import { printChecks, printEvidence } from './judge.ts';
import { measureKnee } from './knee.ts';
import { type CaseStudyOptions, HELP, readOptions } from './options.ts';
import { type Predictions, predict } from './predictions.ts';
import { ProgressDisplay, TABLE_HEADER } from './progress.ts';
import { measureRecovery } from './recovery.ts';
import { measureRulesSpeed, rulesKiBFor } from './rules-size.ts';
import { runVariant, type VariantRun } from './run-variant.ts';
import { measureDrift, soakManifest } from './soak.ts';
import { type Repetition, spreadLines } from './spread.ts';

/** Reports are printed whole for this many variants, and as their verdict line for more. */
const FULL_REPORTS = 2;
/** The short form ends within this time. */
const QUICK_SECONDS = 88;

/** The size of the eligibility rules, the same for all runs of one command, and the speed it was chosen for. */
interface Rules {
  readonly rulesKiB: number;
  readonly sizedAt: number;
}

async function runOne(
  options: CaseStudyOptions,
  variant: VariantName,
  database: Database,
  children: Children,
  rules: Rules,
): Promise<VariantRun> {
  const stated = await readManifest(options.manifestPath);
  const { soak } = options;
  const manifest = soak ? soakManifest(stated, soak.minutes, soak.arrivalsPerSecond) : stated;
  const directory = await makeRunDirectory(options.runs, variant);
  say('');
  sayWithTime(`${variant}: ${VARIANTS[variant].title}`);
  const length = `${plannedSeconds(manifest)} s`;
  sayWithTime(`load "${manifest.name}" (${manifestHash(manifest)}), ${length}, into ${shown(directory)}`);
  say(TABLE_HEADER);
  const display = new ProgressDisplay(process.stdout);
  const run = await runVariant({
    variant,
    manifest,
    directory,
    database,
    children,
    registrations: options.registrations,
    stock: options.stock,
    ...rules,
    onMessage: (message, sample) => display.show(message, sample),
  });
  for (const warning of generatorWarnings(run.load.steps)) say(`  warning: ${warning}`);
  for (const { name, holds, detail } of run.invariants) {
    say(`  ${holds ? 'holds ' : 'BROKEN'}  ${name} (${detail})`);
  }
  for (const result of judgeRun(run)) say(`  ${objectiveLine(result)}`);
  for (const { what, drifts, detail } of soak ? measureDrift(run.load.steps, run.samples) : []) {
    say(`  ${drifts ? 'DRIFTS ' : 'steady '}  ${what} (${detail}, first and last third)`);
  }
  return run;
}

/** The objective of the load, and how long the queues took to empty where it says how long they may. */
function judgeRun({ load, samples }: VariantRun): ObjectiveResult[] {
  const { objective } = load.manifest;
  const results = judgeObjective(objective, load.steps);
  const allowed = objective?.recoverySeconds;
  const recovery = measureRecovery(load.steps, samples, measureKnee(load.steps).perSecond);
  if (allowed === undefined || recovery === null) return results;
  const { drainSeconds } = recovery;
  return [
    ...results,
    {
      objective: `recovery seconds <= ${allowed}`,
      met: drainSeconds <= allowed,
      detail: `${drainSeconds.toFixed(1)} s`,
    },
  ];
}

async function caseStudy(options: CaseStudyOptions, running: Running): Promise<boolean> {
  const existing = process.env['DATABASE_URL'];
  sayWithTime(existing ? 'using the PostgreSQL server of DATABASE_URL' : 'starting PostgreSQL');
  const database = await openDatabase(existing);
  running.onEnd(async () => {
    await database.close();
    sayWithTime('everything that was started is stopped');
  });
  const sizedAt = measureRulesSpeed();
  const rules = { sizedAt, rulesKiB: options.rulesKiB ?? rulesKiBFor(sizedAt) };
  sayWithTime(
    `this machine parses ${(sizedAt / 1e6).toFixed(0)} MB/s of rules: each request parses ${rules.rulesKiB} KiB of them`,
  );
  const repetitions: Repetition[] = [];
  let sound = true;
  for (let count = 1; count <= options.repeat; count++) {
    if (options.repeat > 1) sayWithTime(`repetition ${count} of ${options.repeat}`);
    const repetition = await runAll(options, database, running.children, rules);
    sound = repetition.sound && sound;
    repetitions.push(repetition);
  }
  if (options.repeat > 1) {
    say(`\nHow far ${options.repeat} repetitions lie apart:`);
    for (const line of spreadLines(repetitions)) say(line);
  }
  say('\nLook closer:');
  for (const { run } of repetitions.flatMap(({ judged }) => judged))
    say(`  npx waitfall ${shown(run.directory)}`);
  return sound;
}

async function runAll(
  options: CaseStudyOptions,
  database: Database,
  children: Children,
  rules: Rules,
): Promise<Repetition & { readonly sound: boolean }> {
  const beganSeconds = elapsedSeconds();
  const judged: JudgedRun[] = [];
  let predictions: Predictions = new Map();
  let sound = true;
  for (const variant of options.variants) {
    if (options.quick && judged.length > 0 && !timeLeft(beganSeconds, judged.length)) {
      say(`\n${variant} is left out: it would not end within ${QUICK_SECONDS} seconds`);
      continue;
    }
    const run = await runOne(options, variant, database, children, rules);
    sayWithTime('reading the traces');
    const { report, text } = await analyze(run.directory);
    if (text !== null) say(`\n${options.variants.length > FULL_REPORTS ? verdictLine(text) : text}`);
    judged.push({ run, report });
    if (variant === 'before' && report) predictions = await predict(run.directory, report, options.variants);
    sound &&= text !== null && run.invariants.every((invariant) => invariant.holds);
  }
  await printEvidence(judged);
  const checks = options.soak ? [] : checkRuns(judged, predictions);
  return { judged, checks, sound: printChecks(judged, checks) && sound };
}

/** Whether another variant ends within the time of the short form, going by those before it. */
function timeLeft(beganSeconds: number, done: number): boolean {
  const spent = elapsedSeconds() - beganSeconds;
  return spent + (spent / done) * 1.1 < QUICK_SECONDS;
}

await runCommand(async (running) => {
  const options = readOptions(process.argv.slice(2));
  if (options !== null) return caseStudy(options, running);
  process.stdout.write(HELP);
  return true;
});
