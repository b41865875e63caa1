import type { ChildProcess } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadFile } from '../load/load-file.ts';
import type { LoadMessage } from '../load/main.ts';
import { checkManifest, type LoadManifest } from '../load/manifest.ts';
import { runDelayNs } from '../machine/cpu.ts';
import { analyze, verdictLine } from '../run/analyzer.ts';
import { elapsedSeconds, makeRunDirectory, type Running, say, shown } from '../run/command.ts';
import { offerLoad } from '../run/load.ts';
import { registerModule } from '../run/register-module.ts';
import type { ReportFile } from '../run/report-file.ts';
import { UNRECORDED } from '../run/unrecorded.ts';
import type { Ready } from './listen.ts';

/** A measurement disturbed by other programs is repeated this often at most. */
const REPEATS = 2;
/** … and only while the lab can still end within 90 s, seconds after its start. */
const REPEAT_UNTIL_SECONDS = 40;
/** Counts are trusted when requests started no later than this (p99), ms, … */
const LAG_MS = 50;
/**
 * … and when service and generator stood without a core for no more than this share of the time: the tolerance
 * of the tightest count, ± 2 of 100, is used up by twice as much.
 */
const RUN_DELAY_SHARE = 0.01;
/** Requests before the measurement: connections are open then, and the code is compiled. */
const WARM_UP_REQUESTS = 20;

export interface LabService {
  readonly child: ChildProcess;
  readonly url: string;
}

/** Starts one of the small services of the labs. @param traceFile where its spans go; none: not instrumented. */
export async function startLabService(
  running: Running,
  name: string,
  file: URL,
  args: readonly string[],
  traceFile?: string,
): Promise<LabService> {
  const { child, ready } = await running.children.start<Ready>(name, file, {
    args,
    ...(traceFile
      ? {
          nodeOptions: ['--import', registerModule()],
          env: { OTEL_SERVICE_NAME: name, WAITFALL_TRACE_FILE: traceFile },
        }
      : {}),
  });
  return { child, url: `http://127.0.0.1:${ready.port}` };
}

/** A load manifest of which only the interesting fields are stated. */
export type LabLoad = Partial<LoadManifest> & Pick<LoadManifest, 'name' | 'steps' | 'requests'>;

export interface LabRun {
  readonly directory: string;
  readonly load: LoadFile;
  /** Whether other programs or a late generator make its counts unfit to judge by. */
  readonly disturbed: boolean;
}

export interface LabExperiment {
  /** Name of the run directory. */
  readonly name: string;
  readonly runs: string;
  readonly load: LabLoad;
  /** Starts the service; its spans go to the file. */
  readonly start: (traceFile: string) => Promise<LabService>;
  /** Called while the service still runs, before and after the load. */
  readonly beforeLoad?: (service: LabService) => void;
  readonly afterLoad?: (service: LabService) => Promise<void>;
  readonly onMessage?: (message: LoadMessage, service: LabService) => void;
  /** Requested before the load; default: the path of the first request. */
  readonly warmUpPath?: string;
}

/** Runs one experiment with a fresh service, again where it was disturbed, at most {@link REPEATS} times more. */
export async function runExperiment(
  running: Running,
  experiment: LabExperiment,
  repeat = true,
): Promise<LabRun> {
  for (let attempt = 0; ; attempt++) {
    const run = await runOnce(running, experiment);
    const late = elapsedSeconds() > REPEAT_UNTIL_SECONDS;
    if (!run.disturbed || !repeat || late || attempt === REPEATS) return run;
    say(`  ${experiment.name} was disturbed by other programs; repeated`);
  }
}

async function runOnce(running: Running, experiment: LabExperiment): Promise<LabRun> {
  const directory = await makeRunDirectory(experiment.runs, experiment.name);
  let finished = false;
  // Half a run shows nothing: an interrupted lab leaves whole ones only.
  running.onEnd(async () => {
    if (!finished) await rm(directory, { recursive: true, force: true });
  });
  const service = await experiment.start(join(directory, 'traces.jsonl'));
  await warmUp(service.url + (experiment.warmUpPath ?? experiment.load.requests[0]!.path));
  experiment.beforeLoad?.(service);
  const delayBefore = runDelayNs(service.child.pid!);
  const load = await offerLoad(running.children, {
    manifest: checkManifest(experiment.load, experiment.name),
    url: service.url,
    directory,
    watch: { app: service.child.pid! },
    onMessage: (message) => experiment.onMessage?.(message, service),
  });
  const serviceDelayNs = (runDelayNs(service.child.pid!) ?? 0) - (delayBefore ?? 0);
  await experiment.afterLoad?.(service);
  await running.children.stop(service.child);
  finished = true;
  return { directory, load, disturbed: isDisturbed(load, serviceDelayNs) };
}

async function warmUp(url: string): Promise<void> {
  for (let count = 0; count < WARM_UP_REQUESTS; count++) {
    const response = await fetch(url, { headers: { traceparent: UNRECORDED } });
    await response.arrayBuffer();
  }
}

function isDisturbed({ steps }: LoadFile, serviceDelayNs: number): boolean {
  const lateMs = Math.max(...steps.map((step) => step.startLagNs.p99 ?? 0)) / 1e6;
  const lastedNs = Number(BigInt(steps.at(-1)!.endUnixNano) - BigInt(steps[0]!.startUnixNano));
  const generatorDelayNs = steps.reduce((sum, step) => sum + (step.generatorRunDelayNs ?? 0), 0);
  return lateMs > LAG_MS || Math.max(serviceDelayNs, generatorDelayNs) > RUN_DELAY_SHARE * lastedNs;
}

/** Lets the analyzer judge a run and prints its verdict line. */
export async function printVerdict(run: LabRun): Promise<ReportFile | null> {
  const { report, text } = await analyze(run.directory);
  say(text === null ? '  no report' : verdictLine(text));
  say(`  npx waitfall ${shown(run.directory)}`);
  return report;
}

/** Prints whether something holds that an undisturbed run must show. @returns false where such a run does not. */
export function judge(run: LabRun, claim: string, holds: boolean, detail: string): boolean {
  const mark = holds ? 'holds    ' : run.disturbed ? 'disturbed' : 'FAILS    ';
  say(`  ${mark}  ${claim} (${detail})`);
  return holds || run.disturbed;
}

/** A count that an experiment fixes. */
export interface ExpectedCount {
  readonly what: string;
  readonly actual: number;
  readonly expected: number;
  readonly tolerance: number;
}

/** Prints counts beside what they must be. @returns false where an undisturbed run has one wrong. */
export function judgeCounts(run: LabRun, counts: readonly ExpectedCount[]): boolean {
  return counts
    .map(({ what, actual, expected, tolerance }) =>
      judge(
        run,
        what,
        Math.abs(actual - expected) <= tolerance,
        `${actual}, expected ${expected} ± ${tolerance}`,
      ),
    )
    .every((right) => right);
}
