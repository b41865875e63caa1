import { parentPort, workerData } from 'node:worker_threads';
import { loadRules } from '../classify/rules.ts';
import { type Analysis, type AnalyzeOptions, analyze, type RequestsCutUp } from '../infer/analysis.ts';
import { compareRuns } from '../infer/compare/index.ts';
import { type ReadProgress, readInputs } from '../read/index.ts';
import { type BuildOptions, buildReport, type RequestSections, requestSections } from '../report/build.ts';
import { layOutComparison } from '../report/compare.ts';
import { withLabels } from '../report/labels.ts';
import { buildSession } from './build-session.ts';
import { giveBackMemory } from './give-back.ts';
import type { ComparedWith, ReadingProgress, Session } from './session.ts';
import { listTraces, type TraceList } from './trace-columns.ts';

/** What the worker is started with. */
export interface Job {
  readonly paths: readonly string[];
  /** Threads that may read; the default of the reader where it is absent. */
  readonly threads?: number;
  readonly title: string;
  /** Without rules: they hold functions, which do not cross over to a worker. */
  readonly analyze: Omit<AnalyzeOptions, 'rules' | 'onRequests'>;
  /** Text of the rules file, if any; already checked. */
  readonly rulesYaml: string | null;
  readonly build: BuildOptions;
  /** Manifest of the run directory, if any: it fixes more than the one in the load plan. */
  readonly manifest: Manifest;
  /** The run to compare with. */
  readonly before?: { readonly path: string; readonly manifest: Manifest };
}

type Manifest = Readonly<Record<string, unknown>> | null;

/** A question of the screens, answered by {@link Answer} with the same id. */
export interface Question {
  readonly id: number;
  readonly method: 'trace' | 'span' | 'waits' | 'whatIf' | 'step' | 'split';
  readonly args: readonly unknown[];
}

export type Answer =
  | { readonly kind: 'progress'; readonly progress: ReadingProgress }
  | ({ readonly kind: 'requests'; readonly traces: Session['traces'] } & RequestSections)
  | { readonly kind: 'ready'; readonly report: Session['report']; readonly comparison?: ComparedWith }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'value'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly message: string };

/** Ten times a second is often enough for the eye, and idle enough for the terminal. */
const PROGRESS_EVERY_MS = 100;

/** After the first questions of the screens. */
const GIVE_BACK_AFTER_MS = 1000;

/** Reads and analyses in a thread of its own, so that keys are answered meanwhile; then answers the screens. */
async function run(job: Job, port: NonNullable<typeof parentPort>): Promise<void> {
  const say = (answer: Answer): void => port.postMessage(answer);
  let list: TraceList | undefined;
  let sections: RequestSections | undefined;
  const analysis = await analyzeRun(job.paths, job.manifest, job, say, (cut) => {
    list = listTraces(cut);
    sections = requestSections(cut, job.build);
    say({ kind: 'requests', traces: list.traces, ...sections });
  });
  const report = withLabels(buildReport(analysis, job.build, sections));
  const comparison = job.before && (await compareWith(job.before, analysis, job, say));
  const session = buildSession(analysis, report, job.title, optionsOf(job), comparison, list);
  say({ kind: 'ready', report, ...(comparison ? { comparison } : {}) });
  setTimeout(giveBackMemory, GIVE_BACK_AFTER_MS).unref();
  port.on('message', ({ id, method, args }: Question) => {
    (session[method] as (...args: readonly unknown[]) => Promise<unknown>)(...args).then(
      (value) => say({ kind: 'value', id, value }),
      (error: unknown) =>
        say({ kind: 'error', id, message: error instanceof Error ? error.message : String(error) }),
    );
  });
}

function optionsOf({ analyze: options, rulesYaml }: Job): AnalyzeOptions {
  return rulesYaml === null ? options : { ...options, rules: loadRules(rulesYaml) };
}

async function analyzeRun(
  paths: readonly string[],
  manifest: Manifest,
  job: Job,
  say: (answer: Answer) => void,
  onRequests?: (cut: RequestsCutUp) => void,
): Promise<Analysis> {
  let told = 0;
  let last: ReadProgress = { bytes: 0, totalBytes: null, spans: 0 };
  const input = await readInputs(paths, {
    ...(job.threads === undefined ? {} : { threads: job.threads }),
    onProgress: (progress) => {
      last = progress;
      const now = performance.now();
      if (now - told < PROGRESS_EVERY_MS) return;
      told = now;
      say({ kind: 'progress', progress: { phase: 'reading', ...progress } });
    },
  });
  say({ kind: 'progress', progress: { phase: 'analysing', ...last, spans: input.table.length } });
  const analysis = analyze(input, { ...optionsOf(job), ...(onRequests ? { onRequests } : {}) });
  return manifest === null || analysis.plan === null
    ? analysis
    : { ...analysis, plan: { ...analysis.plan, manifest } };
}

/** Reads the run before the change and keeps of it only what is shown. */
async function compareWith(
  { path, manifest }: NonNullable<Job['before']>,
  after: Analysis,
  job: Job,
  say: (answer: Answer) => void,
): Promise<ComparedWith> {
  const before = await analyzeRun([path], manifest, job, say);
  const record = compareRuns(before, after);
  const names = { before: path, after: job.paths[0] };
  return {
    ...names,
    report: withLabels(buildReport(before, job.build)),
    conclusion: record.conclusion,
    record: layOutComparison(record, names),
  };
}

if (parentPort) {
  const port = parentPort;
  run(workerData as Job, port).catch((error: unknown) => {
    port.postMessage({
      kind: 'failed',
      message: error instanceof Error ? error.message : String(error),
    } satisfies Answer);
  });
}
