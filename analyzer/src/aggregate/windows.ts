import { InFlight } from './in-flight.ts';
import type { Span } from './intervals.ts';
import { windowAt } from './intervals.ts';
import type { LoadPlan, LoadStep } from './load-plan.ts';
import { clipPlan, planAgainstTraces } from './load-plan.ts';
import { rateSegments } from './rate-segments.ts';
import type { Requests } from './requests-types.ts';
import { fitTailLimit, SAMPLED_BELOW, type Sampling } from './weights.ts';

/** A window of even offered rate; ns relative to the origin of the requests. Requests belong by their root start. */
export interface Window extends Span {
  readonly step: LoadStep | null;
  readonly phase: string | null;
  readonly seconds: number;
  /** Requests it stands for (sum of weights). */
  readonly requests: number;
  /** Rate used everywhere: requests / seconds, but the planned one where the export is sampled and a plan is given. */
  readonly arrivalsPerSecond: number;
}

/** How the requests are laid out over windows of even load (rules 0 and 1). */
export interface Timeline {
  readonly windows: readonly Window[];
  /** Window of the highest rate, the last of equals; -1 without windows. */
  readonly top: number;
  /** Windows that say how the service takes a rate: no inherited backlog. Ascending by rate. */
  readonly rising: readonly number[];
  readonly sampling: Sampling;
  readonly plan: LoadPlan | null;
  readonly notes: readonly string[];
  readonly inFlight: InFlight;
}

/**
 * Builds the windows from the plan, else from the arrivals, assigns every request to one (writes `requests.window`)
 * and settles the weights (writes `requests.weight` where they had to be fitted).
 */
export function layOutWindows(requests: Requests, given: LoadPlan | null): Timeline {
  const notes: string[] = [];
  const usable = given === null ? null : usablePlan(requests, given, notes);
  const plan = usable && coveredPart(requests, usable, notes);
  const spans = plan ? planSpans(requests, plan) : detectedSpans(requests);
  const stated = requests.weight.some((weight) => weight !== 1);
  assign(requests, spans);
  const sampling = settleWeights(requests, spans, plan, stated, notes);
  const sums = new Float64Array(spans.length);
  for (let i = 0; i < requests.count; i++)
    if (requests.window[i] >= 0) sums[requests.window[i]] += requests.weight[i];
  const windows = spans.map((span, w): Window => {
    const step = plan ? plan.steps[w] : null;
    const seconds = (span.endNs - span.startNs) / 1e9;
    return {
      ...span,
      step,
      phase: step?.phase ?? null,
      seconds,
      requests: sums[w],
      arrivalsPerSecond: step && sampling.kind !== 'none' ? step.arrivalsPerSecond : sums[w] / seconds,
    };
  });
  let top = -1;
  for (let w = 0; w < windows.length; w++) {
    if (top < 0 || windows[w].arrivalsPerSecond >= windows[top].arrivalsPerSecond) top = w;
  }
  const inFlight = new InFlight(requests);
  const rising = risingWindows(requests, windows, top, inFlight);
  return { windows, top, rising, sampling, plan, notes, inFlight };
}

function usablePlan(requests: Requests, plan: LoadPlan, notes: string[]): LoadPlan | null {
  if (requests.count === 0) return null;
  const spans = planSpans(requests, plan);
  let inside = 0;
  for (let i = 0; i < requests.count; i++) if (windowAt(spans, requests.startNs[i]) >= 0) inside++;
  const first = requests.originUnixNano;
  const last = first + BigInt(requests.startNs[requests.count - 1]);
  const check = planAgainstTraces(plan, first, last, inside, requests.count);
  notes.push(...check.notes);
  return check.usable ? plan : null;
}

/** So many requests cannot all be missing by chance: e⁻¹² for random arrivals. */
const CERTAINLY_MISSING = 12;

/**
 * The part of the plan that the export covers. Traces that end long before the plan (or begin long after it) are cut
 * off, not sampled: what they hold of the covered part is complete.
 */
function coveredPart(requests: Requests, plan: LoadPlan, notes: string[]): LoadPlan {
  const spans = planSpans(requests, plan);
  const first = requests.startNs[0];
  const last = requests.startNs[requests.count - 1];
  const planned = (fromNs: number, toNs: number) =>
    spans.reduce((sum, span, w) => {
      const ns = Math.min(span.endNs, toNs) - Math.max(span.startNs, fromNs);
      return sum + Math.max(0, ns / 1e9) * plan.steps[w].arrivalsPerSecond;
    }, 0);
  let inside = 0;
  for (let i = 0; i < requests.count; i++) if (windowAt(spans, requests.startNs[i]) >= 0) inside++;
  const kept = Math.min(1, inside / Math.max(1, planned(first, last)));
  const at = (ns: number) => requests.originUnixNano + BigInt(Math.round(ns));
  const cut = (missing: number) => kept * missing > CERTAINLY_MISSING;
  const from = cut(planned(Number.NEGATIVE_INFINITY, first)) ? at(first) : undefined;
  const to = cut(planned(last, Number.POSITIVE_INFINITY)) ? at(last + 1) : undefined;
  if (from === undefined && to === undefined) return plan;
  const seconds = (a: bigint, b: bigint) => (Number(a - b) / 1e9).toFixed(1);
  if (from !== undefined)
    notes.push(
      `the export begins ${seconds(from, plan.steps[0].startUnixNano)} s after the load plan; what was sent before is left out`,
    );
  if (to !== undefined)
    notes.push(
      `the export ends ${seconds(plan.steps.at(-1)!.endUnixNano, to)} s before the load plan; what was sent after is left out`,
    );
  const part = clipPlan(plan, from, to);
  return part.steps.length > 0 ? part : plan;
}

function planSpans(requests: Requests, plan: LoadPlan): Span[] {
  return plan.steps.map((step) => ({
    startNs: Number(step.startUnixNano - requests.originUnixNano),
    endNs: Number(step.endUnixNano - requests.originUnixNano),
  }));
}

function detectedSpans(requests: Requests): Span[] {
  let lastEndNs = 0;
  for (let i = 0; i < requests.count; i++)
    lastEndNs = Math.max(lastEndNs, requests.startNs[i] + requests.durationNs[i]);
  const segments = rateSegments(requests.startNs, requests.weight, lastEndNs);
  if (segments.length < 2) return segments;
  const inFlight = new InFlight(requests);
  const runNs = segments[segments.length - 1].endNs - segments[0].startNs;
  return segments.flatMap((segment) => piecesOfState(segment, runNs / PIECES_OF_RUN, inFlight));
}

/** Detected windows in which the service was in several states are cut into about this part of the run. */
const PIECES_OF_RUN = 10;
/** Requests in flight in one piece that are more than this multiple of those in another, and this many more, are another state. */
const OTHER_STATE = 2;
const OTHER_STATE_LEAST = 3;
const SAMPLES = 8;

/**
 * Bursts hide steps of the rate, but not what they do: where the requests in flight are not about the same throughout,
 * the mean of the window would show a queue half full that was full in a part of it.
 */
function piecesOfState({ startNs, endNs }: Span, pieceNs: number, inFlight: InFlight): Span[] {
  const n = Math.round((endNs - startNs) / pieceNs);
  const at = (piece: number) => startNs + ((endNs - startNs) * piece) / n;
  const pieces = Array.from({ length: n }, (_, i) => ({ startNs: at(i), endNs: at(i + 1) }));
  const levels = pieces.map((piece) => {
    let sum = 0;
    for (let k = 0; k < SAMPLES; k++)
      sum += inFlight.at(piece.startNs + ((piece.endNs - piece.startNs) * (k + 0.5)) / SAMPLES);
    return sum / SAMPLES;
  });
  const varies = Math.max(...levels) > OTHER_STATE * Math.min(...levels) + OTHER_STATE_LEAST;
  return n > 1 && varies ? pieces : [{ startNs, endNs }];
}

function assign(requests: Requests, spans: readonly Span[]): void {
  for (let i = 0; i < requests.count; i++) requests.window[i] = windowAt(spans, requests.startNs[i]);
}

/** Rule 0. Weights of `th` stand; else a plan that sent far more than was exported means sampling without `th`. */
function settleWeights(
  requests: Requests,
  spans: readonly Span[],
  plan: LoadPlan | null,
  stated: boolean,
  notes: string[],
): Sampling {
  const n = requests.count;
  let sum = 0;
  for (const weight of requests.weight) sum += weight;
  if (stated) return { kind: 'stated', keptShare: n / sum, keptAboveNs: null };
  const unsampled: Sampling =
    requests.chosenWithoutWeight > 0
      ? { kind: 'unstated', keptShare: null, keptAboveNs: null }
      : { kind: 'none', keptShare: 1, keptAboveNs: null };
  if (plan === null) return unsampled;
  const offered = plan.steps.map(
    (step, w) => (step.arrivalsPerSecond * (spans[w].endNs - spans[w].startNs)) / 1e9,
  );
  const offeredTotal = offered.reduce((a, b) => a + b, 0);
  let inside = 0;
  for (const w of requests.window) if (w >= 0) inside++;
  if (inside + sentLate(requests, spans) >= SAMPLED_BELOW * offeredTotal) return unsampled;
  const success = requests.outcomes.indexOf('success');
  const members = spans.map((_, w) => {
    const own: number[] = [];
    for (let i = 0; i < n; i++) if (requests.window[i] === w) own.push(i);
    return own;
  });
  const fit = fitTailLimit(
    members.map((own, w) => ({
      offered: offered[w],
      durationsNs: Float64Array.from(own, (i) => requests.durationNs[i]),
      failed: Uint8Array.from(own, (i) => (requests.outcome[i] === success ? 0 : 1)),
    })),
  );
  if (fit !== null) {
    for (let i = 0; i < n; i++) {
      const kept = requests.durationNs[i] > fit.limitNs || requests.outcome[i] !== success;
      requests.weight[i] = kept ? 1 : 1 / fit.keepRate;
    }
    return { kind: 'tail-fitted', keptShare: inside / offeredTotal, keptAboveNs: fit.limitNs };
  }
  const kept = inside / offeredTotal;
  for (let i = 0; i < n; i++) requests.weight[i] = 1 / kept;
  notes.push(
    `the export holds ${(100 * kept).toFixed(0)} % of the requests the load plan sent and states no sampling (tracestate ot=th); each was taken to stand for ${(1 / kept).toFixed(1)}`,
  );
  return { kind: 'thinned', keptShare: kept, keptAboveNs: null };
}

/**
 * A generator with few connections sends what it planned after the step's end: between two steps, or until as long after
 * the last one as that lasted. @returns how many requests start there.
 */
function sentLate(requests: Requests, spans: readonly Span[]): number {
  const last = spans[spans.length - 1];
  const untilNs = last.endNs + (last.endNs - last.startNs);
  let late = 0;
  for (let i = 0; i < requests.count; i++) {
    const startNs = requests.startNs[i];
    if (requests.window[i] < 0 && startNs >= spans[0].startNs && startNs < untilNs) late++;
  }
  return late;
}

/** Inherited backlog above this multiple of what the window itself keeps in flight makes it a recovery window. */
const INHERITED = 2;

/** A rate of at least this share of the highest before it is no fall: what it inherits is of its own making. */
const NO_FALL = 0.9;

/**
 * Rule 1: windows up to the highest rate. One after a fall of the rate, or after the highest, counts when it began
 * without a backlog of the windows before it. Warm-up is left out where at least three others remain.
 */
function risingWindows(
  requests: Requests,
  windows: readonly Window[],
  top: number,
  inFlight: InFlight,
): number[] {
  const chosen: number[] = [];
  let highest = 0;
  for (let w = 0; w < windows.length; w++) {
    const rate = windows[w].arrivalsPerSecond;
    const rises = w <= top && rate >= NO_FALL * highest;
    highest = Math.max(highest, rate);
    if (windows[w].requests === 0 || windows[w].phase === 'recovery') continue;
    if (rises || startsClean(requests, windows[w], w, inFlight)) chosen.push(w);
  }
  const warm = chosen.filter((w) => windows[w].phase !== 'warmup');
  const used = warm.length >= 3 ? warm : chosen;
  return used.sort((a, b) => windows[a].arrivalsPerSecond - windows[b].arrivalsPerSecond || a - b);
}

function startsClean(requests: Requests, window: Window, index: number, inFlight: InFlight): boolean {
  // The first two thirds may still be busy with what was inherited.
  const fromNs = window.endNs - (window.endNs - window.startNs) / 3;
  let timeNs = 0;
  for (let i = 0; i < requests.count; i++) {
    if (requests.window[i] === index && requests.startNs[i] >= fromNs) {
      timeNs += requests.durationNs[i] * requests.weight[i];
    }
  }
  // Little: what these requests keep in flight themselves.
  const own = timeNs / (window.endNs - fromNs);
  return inFlight.at(window.startNs) <= INHERITED * own + 3;
}
