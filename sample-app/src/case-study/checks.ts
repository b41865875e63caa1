import type { LoadManifest } from '../load/manifest.ts';
import type { ReportFile } from '../run/report-file.ts';
import type { VariantName } from '../service/variants.ts';
import { type MeasuredKnee, measureKnee } from './knee.ts';
import { HOT_LOCK, type Predictions } from './predictions.ts';
import { measureRecovery } from './recovery.ts';
import { slowed } from './rules-size.ts';
import type { VariantRun } from './run-variant.ts';

/** Share of a core that service and database may use at the knee for the verdict "it is not the CPU". */
const CPU_AT_KNEE = 0.65;
/** How far the measured knee may lie from 1 / (share of visits x median hold). */
const KNEE_TOLERANCE = 0.25;
/** A fix that moves the knee by less did not work; one that works moves it by at least that much. */
const NO_EFFECT = 1.15;
const EFFECT = 1.5;
/** A rejected request must not have waited: longest p99 of a rejection, ms. */
const REJECTION_MS = 250;
/** Draining may take this much longer than predicted, and one sampling interval. */
const DRAIN_TOLERANCE = 1.5;
const DRAIN_RESOLUTION_SECONDS = 1;

/** Kinds of the queues that fill one another in "before", inner to outer. */
const CHAIN = ['lock', 'pool', 'admission'];
/** Something a run must show. */
export interface Check {
  readonly variant: VariantName;
  readonly claim: string;
  /** null: it could not be judged, the detail says why. */
  readonly holds: boolean | null;
  readonly detail: string;
}

/** A run together with the analyzer's judgement of it; null where the analyzer gave none. */
export interface JudgedRun {
  readonly run: VariantRun;
  readonly report: ReportFile | null;
}

/** @returns whether so much of the machine was taken from the run that failing checks prove nothing. */
export function disturbed(run: VariantRun): boolean {
  return (
    slowed(run.speed) ||
    run.load.steps.some((step) => step.disturbed === true && !step.repeated && step.phase !== 'warmup')
  );
}

/** Checks each run against what its variant must show, from its own measurements only. */
export function checkRuns(runs: readonly JudgedRun[], predictions: Predictions): Check[] {
  const find = (variant: VariantName) => runs.find((judged) => judged.run.variant === variant) ?? null;
  const before = find('before');
  const after = find('after');
  return runs.flatMap((judged) => {
    const { variant } = judged.run;
    const judgements = [
      ...variantJudgements(judged, before, after, predictions),
      ...overloadJudgements(judged.run),
    ];
    return judgements.map((judgement) => ({ variant, ...judgement }));
  });
}

type Judgement = Omit<Check, 'variant'>;

function variantJudgements(
  judged: JudgedRun,
  before: JudgedRun | null,
  after: JudgedRun | null,
  predictions: Predictions,
): Judgement[] {
  const { run, report } = judged;
  switch (run.variant) {
    case 'before':
      return [
        judgeFirst("first queue is the campaign row's lock", report, 'lock', HOT_LOCK),
        judgeChain(report),
        judgeCpuAtKnee(kneeOf(judged)),
        judgePredictedKnee(judged),
      ];
    case 'bigger-pool':
    case 'more-slots':
      return [
        judgeRatio(
          `moves the knee by less than ${percent(NO_EFFECT - 1)}`,
          before,
          judged,
          (x) => x < NO_EFFECT,
        ),
        judgeFirst('the verdict still names the lock', report, 'lock'),
      ];
    case 'after':
      return [
        judgeRatio(`moves the knee by at least ${EFFECT}x`, before, judged, (x) => x >= EFFECT),
        judgeNextQueue('the verdict names the event loop', report, 'eventloop'),
      ];
    case 'update-last':
    case 'split-row':
      return [judgePrediction(judged, predictions)];
    case 'after-cached-rules':
      return [judgeNextBottleneck(judged, after)];
    case 'real-rtt':
      return [];
  }
}

function overloadJudgements(run: VariantRun): Judgement[] {
  const judgements: Judgement[] = [];
  const rejectedNs = run.load.steps.flatMap(({ rejectedLatencyNs }) => rejectedLatencyNs.p99 ?? []);
  if (rejectedNs.length > 0) {
    const worst = Math.max(...rejectedNs) / 1e6;
    judgements.push({
      claim: 'rejects at once',
      holds: worst < REJECTION_MS,
      detail: `p99 of a rejection at most ${worst.toFixed(0)} ms`,
    });
  }
  const recovery = measureRecovery(run.load.steps, run.samples, measureKnee(run.load.steps).perSecond);
  if (recovery !== null) {
    const { drainSeconds, predictedSeconds } = recovery;
    judgements.push({
      claim: 'the backlog drains in the time that the knee predicts',
      holds: drainSeconds <= DRAIN_TOLERANCE * predictedSeconds + DRAIN_RESOLUTION_SECONDS,
      detail: `${drainSeconds.toFixed(1)} s, ${predictedSeconds.toFixed(1)} s predicted`,
    });
  }
  return judgements;
}

const kneeOf = (judged: JudgedRun): MeasuredKnee => measureKnee(judged.run.load.steps);
const unknown = (claim: string, detail: string): Judgement => ({ claim, holds: null, detail });

function judgeFirst(claim: string, report: ReportFile | null, kind: string, resource?: string): Judgement {
  if (report === null) return unknown(claim, 'no report');
  const { first, status } = report.verdict;
  return {
    claim,
    holds: first !== null && first.kind === kind && (resource === undefined || first.resource === resource),
    detail: first === null ? `no queue named: ${status}` : `${first.resource} (${first.kind})`,
  };
}

/** Like {@link judgeFirst}; where no queue saturated, the one that would be next is what the verdict names. */
function judgeNextQueue(claim: string, report: ReportFile | null, kind: string): Judgement {
  if (report?.verdict.status !== 'not-saturated') return judgeFirst(claim, report, kind);
  const { next } = report.verdict;
  return {
    claim,
    holds: next?.kind === kind,
    detail: `not saturated up to the top step; next: ${next?.resource ?? 'unknown'}`,
  };
}

function judgeChain(report: ReportFile | null): Judgement {
  const claim = `chain ${CHAIN.join(' -> ')}`;
  if (report === null) return unknown(claim, 'no report');
  const kinds = report.verdict.chain.map((link) => link.kind);
  return {
    claim,
    holds: kinds.join() === CHAIN.join(),
    detail: `chain: ${kinds.join(' -> ') || 'none'}`,
  };
}

function judgeCpuAtKnee({ step }: MeasuredKnee): Judgement {
  const claim = `service and database use less than ${percent(CPU_AT_KNEE)} of a core at the knee`;
  if (step === null) return unknown(claim, 'no step went beyond the knee');
  const app = step.cpu['app'] ?? null;
  // The database may run elsewhere; then only the service can be judged.
  const db = step.cpu['db'] ?? null;
  if (app === null) return unknown(claim, 'CPU use is not known here');
  return {
    claim,
    holds: app < CPU_AT_KNEE && (db ?? 0) < CPU_AT_KNEE,
    detail: `service ${percent(app)}, database ${db === null ? 'unknown' : percent(db)} at ${step.arrivalsPerSecond}/s`,
  };
}

function judgePredictedKnee(judged: JudgedRun): Judgement {
  const claim = `knee within ${percent(KNEE_TOLERANCE)} of 1 / (hot share x median hold)`;
  const { perSecond } = kneeOf(judged);
  const holdNs = medianHoldNs(judged.report);
  if (perSecond === null) return unknown(claim, 'no step went beyond the knee');
  if (holdNs === null) return unknown(claim, 'the report states no hold of the lock');
  const share = hotShare(judged.run.load.manifest);
  const predicted = 1e9 / (share * holdNs);
  return {
    claim,
    holds: Math.abs(perSecond / predicted - 1) <= KNEE_TOLERANCE,
    detail: `${rate(perSecond)} measured, ${rate(predicted)} from ${share.toFixed(2)} x ${(holdNs / 1e6).toFixed(1)} ms`,
  };
}

function judgeRatio(
  claim: string,
  before: JudgedRun | null,
  judged: JudgedRun,
  accept: (ratio: number) => boolean,
): Judgement {
  const from = before && kneeOf(before).perSecond;
  if (from === null) return unknown(claim, 'no knee of "before" to compare with');
  const { reached, text } = reachedBy(judged);
  return {
    claim,
    holds: accept(reached / from),
    detail: `${rate(from)} -> ${text}, x${(reached / from).toFixed(2)}`,
  };
}

/** The knee, or, of a run without one, the highest goodput: its knee is at least that. */
function reachedBy(judged: JudgedRun): { readonly reached: number; readonly text: string } {
  const { perSecond, topPerSecond } = kneeOf(judged);
  return perSecond === null
    ? { reached: topPerSecond, text: `at least ${rate(topPerSecond)}` }
    : { reached: perSecond, text: rate(perSecond) };
}

/** The range that the before run's what-if gave for this change must hold the knee that was measured. */
function judgePrediction(judged: JudgedRun, predictions: Predictions): Judgement {
  const claim = 'moves the knee as the what-if of "before" said';
  const whatIf = predictions.get(judged.run.variant);
  if (!whatIf?.kneePerSecond) return unknown(claim, 'there is no what-if of "before" for it');
  const { low, high } = whatIf.kneePerSecond;
  // The prediction is of the analyzer's knee; the generator's stands in where the analyzer found none.
  const knee = judged.report?.verdict.kneePerSecond ?? null;
  const { reached, text } = knee === null ? reachedBy(judged) : { reached: knee, text: rate(knee) };
  const capped = knee === null && kneeOf(judged).perSecond === null;
  return {
    claim,
    holds: reached >= low && (capped || reached <= high),
    detail: `${whatIf.change}: ${low.toFixed(0)} to ${rate(high)} predicted, ${text} measured`,
  };
}

function judgeNextBottleneck(judged: JudgedRun, after: JudgedRun | null): Judgement {
  const claim = 'has a higher knee than "after", or none up to the top step';
  const { perSecond, topPerSecond } = kneeOf(judged);
  if (perSecond === null) return { claim, holds: true, detail: `not saturated up to ${rate(topPerSecond)}` };
  const from = after && kneeOf(after).perSecond;
  if (from === null) return unknown(claim, 'no knee of "after" to compare with');
  return { claim, holds: perSecond > from, detail: `${rate(from)} -> ${rate(perSecond)}` };
}

/** Median over the windows of the mean hold of the campaign row's lock, ns. */
function medianHoldNs(report: ReportFile | null): number | null {
  const lock = report?.resources.find(({ resource }) => resource === 'lock:campaign');
  const holds = (lock?.windows ?? []).map((window) => window.meanHoldNs).filter((hold) => hold !== null);
  holds.sort((a, b) => a - b);
  return holds[Math.floor(holds.length / 2)] ?? null;
}

/** Share of all requests that lock the hot campaign's row: those whose body names campaign 1. */
export function hotShare(manifest: LoadManifest): number {
  const hot = (request: LoadManifest['requests'][number]) =>
    (request.body as { campaign?: unknown } | undefined)?.campaign === 1;
  const sum = (requests: LoadManifest['requests']) =>
    requests.reduce((total, request) => total + request.share, 0);
  return sum(manifest.requests.filter(hot)) / sum(manifest.requests);
}

/** @returns what disturbed the run, a sentence for people each. */
export function disturbances({ load: { steps }, speed }: VariantRun): string[] {
  const found: string[] = [];
  const most = Math.max(0, ...steps.map((step) => step.cpu['others'] ?? 0));
  const count = steps.filter((step) => step.disturbed && !step.repeated).length;
  if (count > 0)
    found.push(
      `other programs used up to ${percent(most)} of a core in ${count} of ${steps.length} steps: end them`,
    );
  if (slowed(speed)) {
    const [sized, before, after] = [speed.sized, speed.before, speed.after].map((x) => (x / 1e6).toFixed(0));
    found.push(
      `the machine itself became slower: it parsed ${sized} MB/s of rules when they were sized, ${before} before this run and ${after} after it`,
    );
  }
  return found;
}

const percent = (value: number): string => `${(value * 100).toFixed(0)} %`;
const rate = (value: number): string => `${value.toFixed(1)}/s`;
