import { buildModels } from '../aggregate/build-models.ts';
import { collectActivity, type KnownBefore } from '../aggregate/collect-activity.ts';
import { cutHosts } from '../aggregate/cut-hosts.ts';
import { Gathering } from '../aggregate/gathering.ts';
import { type Parts, partsOf, type RequestGroups } from '../aggregate/groups.ts';
import { addHoldContents } from '../aggregate/hold-contents.ts';
import { byRequest, HostPieces, type Overlay } from '../aggregate/host-pieces.ts';
import { clipPlan, type LoadPlan, parseLoadPlan } from '../aggregate/load-plan.ts';
import { measureLoops } from '../aggregate/measured-loop.ts';
import { rebuild } from '../aggregate/official/index.ts';
import { measureOpaque } from '../aggregate/opaque.ts';
import { type Frame, lowWindows, type QueueModel } from '../aggregate/queue-model.ts';
import { recoveryOf } from '../aggregate/recovery.ts';
import { collectRequests } from '../aggregate/requests.ts';
import type { Requests } from '../aggregate/requests-types.ts';
import { resourceRows } from '../aggregate/resource-rows.ts';
import { sumSeries } from '../aggregate/series.ts';
import { SpanQueues } from '../aggregate/span-queues.ts';
import { StatementReader } from '../aggregate/statement.ts';
import { type EachPart, holdsRow } from '../aggregate/tree-parts.ts';
import type { Recovery, ResourceRow, WindowRow } from '../aggregate/types.ts';
import type { Sampling } from '../aggregate/weights.ts';
import { windowRows } from '../aggregate/window-rows.ts';
import { layOutWindows, type Timeline } from '../aggregate/windows.ts';
import { classify } from '../classify/classify.ts';
import type { Rules } from '../classify/rules.ts';
import type { Classes } from '../classify/types.ts';
import { collectGarbage } from '../model/garbage.ts';
import type { Input } from '../model/input.ts';
import type { Names } from '../model/names.ts';
import { forgetScratch } from '../model/scratch.ts';
import type { SpanTable } from '../model/span-table.ts';
import { partition } from '../partition/partition.ts';
import type { Partition } from '../partition/types.ts';
import { DEFAULT_REPAIR, repairTrees } from '../tree/repair.ts';
import { type Tally, tallyOf } from '../tree/tally.ts';
import type { Forest } from '../tree/types.ts';
import { findClosedLoop } from './closed-loop.ts';
import { infer } from './index.ts';
import { type Objective, objectiveOfPlan } from './objective.ts';
import { withoutRatesOfTheLoop } from './slowed-by-loop.ts';
import { lookupIn, type SpanLookup } from './span-lookup.ts';
import type { Statement, Verdict } from './types.ts';

export interface AnalyzeOptions {
  /** Overrun that is clamped instead of examined, ns. Default 1 ms. */
  readonly toleranceNs?: number;
  readonly keepClocks?: boolean;
  /** `--rules`: what spans of other instrumentations mean. */
  readonly rules?: Rules;
  /** Parsed content of `--load`; default: the only load plan found in the input. */
  readonly loadPlan?: unknown;
  /** Changes to predict, as `lock:campaign hold x0.25`. */
  readonly whatIf?: readonly string[];
  /** Default: the plan's objective, else `p99 < 200 ms` is not assumed and the p99 of low load is used. */
  readonly objective?: Objective;
  /** Only requests whose root starts in [from, to). */
  readonly fromUnixNano?: bigint;
  readonly toUnixNano?: bigint;
  /** Called as soon as every request is cut up, before queues and verdict: what can be shown by then. */
  readonly onRequests?: (requests: RequestsCutUp) => void;
}

/** The first half of an analysis: trees, who owns which time, and the requests. */
export type RequestsCutUp = Pick<
  Analysis,
  'input' | 'tally' | 'forest' | 'partition' | 'classes' | 'requests' | 'parts'
>;

/** What a report is made of, wherever the spans are. */
export interface Answer {
  readonly input: Input;
  readonly tally: Tally;
  readonly requests: Requests;
  readonly parts: Parts;
  /** What all of them have in common, where it is known already. */
  readonly groups?: RequestGroups;
  readonly plan: LoadPlan | null;
  readonly sampling: Sampling;
  readonly windows: readonly WindowRow[];
  readonly resources: readonly ResourceRow[];
  /** The same queues as the inference sees them, nearest to saturation first. */
  readonly models: readonly QueueModel[];
  readonly frame: Frame;
  readonly recovery: Recovery | null;
  readonly verdict: Verdict;
  /** What could not be used (a load plan that does not overlap the traces, ...), one sentence each. */
  readonly notes: readonly Statement[];
}

/** Everything one pass over the input gives, with all trees in memory. */
export interface Analysis extends Answer {
  readonly forest: Forest;
  readonly partition: Partition;
  readonly classes: Classes;
}

/**
 * Repairs the trees, cuts them into segments, classifies them, builds windows and the resource table, and infers
 * the first saturating queue. Pure: the same input gives the same answer.
 */
export function analyze(input: Input, options: AnalyzeOptions = {}): Analysis {
  const { table } = input;
  const { forest, partition: parted, classes } = cutUp(table, options);
  const tally = tallyOf(forest);
  const requests = collectRequests(forest, classes, options);
  const parts = partsOf(forest, classes, parted);
  options.onRequests?.({ input, tally, forest, partition: parted, classes, requests, parts });
  const gathering = new Gathering(table);
  gatherPart({ forest, partition: parted, classes, requests }, gathering, null);
  collectGarbage(table.length);
  const all = Int32Array.from({ length: requests.count }, (_, i) => i);
  const found: Found = {
    input,
    tally,
    requests,
    parts,
    gathering,
    eachPart: (visit) => visit({ forest, classes, firstRow: 0, requests: all }),
    spans: lookupIn(forest, requests),
  };
  return { ...conclude(found, options), forest, partition: parted, classes };
}

/** The trees of a table, who owns their time, and what it means. */
export interface CutUp {
  readonly forest: Forest;
  readonly partition: Partition;
  readonly classes: Classes;
}

/** @param names resource names, shared by all parts of an input */
export function cutUp(table: SpanTable, options: AnalyzeOptions, names?: Names): CutUp {
  const forest = repairTrees(table, {
    toleranceNs: options.toleranceNs ?? DEFAULT_REPAIR.toleranceNs,
    keepClocks: options.keepClocks ?? DEFAULT_REPAIR.keepClocks,
  });
  collectGarbage(table.length);
  const parted = partition(forest);
  collectGarbage(table.length);
  return { forest, partition: parted, classes: classify(table, forest, options.rules, names) };
}

/** Reads what happened in the trees of one part of an input. */
export function gatherPart(
  { forest, partition, classes, requests }: CutUp & { readonly requests: Requests },
  gathering: Gathering,
  known: KnownBefore | null,
): void {
  const { activity, index, pieces, firstRow, firstRequest, since } = gathering;
  const readers = {
    queues: new SpanQueues(index, forest.table, classes),
    statements: new StatementReader(forest.table, gathering.operations, known?.fewTexts ?? null),
  };
  collectActivity(forest, partition, classes, requests, gathering, known, readers);
  // What is not stated has to be rebuilt before anybody knows what is held.
  if (!activity.stated) return;
  const holds = byRequest(activity.holds, since.holds);
  cutHosts(
    pieces,
    { forest, classes, firstRow },
    readers,
    activity,
    holds,
    since,
    (i) => requests.startNs[i - firstRequest],
  );
}

/** All that was read from the trees of an input, and how to look at them once more. */
export interface Found extends Pick<Answer, 'input' | 'tally' | 'requests' | 'parts'> {
  readonly gathering: Gathering;
  readonly eachPart: EachPart;
  readonly spans: SpanLookup;
}

/** The second half of an analysis: windows, queues and the verdict, from what was read from the trees. */
function conclude(found: Found, options: AnalyzeOptions): Answer {
  return judge(found, measure(found, options), options, null);
}

/** Windows and queues, and what is known of them so far. */
export interface Measured {
  readonly timeline: Timeline;
  /** One sentence each. */
  readonly notes: readonly string[];
  readonly models: readonly QueueModel[];
  readonly frame: Frame;
  /** Some waits or holds were not stated. */
  readonly rebuilt: boolean;
}

/**
 * Lays out the windows and measures the queues.
 *
 * @param onWindows called as soon as every request has its window and its weight
 */
export function measure(
  found: Found,
  options: AnalyzeOptions,
  onWindows: (windows: number) => void = () => {},
): Measured {
  const { input, tally, requests, gathering, eachPart } = found;
  const rows = tally.spanRecords;
  const { activity, index, processes } = gathering;
  const given = choosePlan(input, options);
  const plan = given.plan && clipPlan(given.plan, options.fromUnixNano, options.toUnixNano);
  const timeline = layOutWindows(requests, plan && plan.steps.length > 0 ? plan : null);
  onWindows(timeline.windows.length);
  const lows = lowWindows(timeline);
  const rebuilt = rebuild(eachPart, requests, activity, index, timeline, lows);
  const series = sumSeries(activity, requests, timeline);
  measureLoops(series, processes, input.table.resources, requests, input.metrics, timeline);
  const baselines = measureOpaque(activity, series, requests, timeline, lows);
  collectGarbage(rows);
  const pieces = rebuilt.any ? cutAgain(found, rebuilt.overlays) : gathering.pieces;
  addHoldContents(pieces, requests, activity, index, series, baselines);
  forgetScratch();
  collectGarbage(rows);
  const built = buildModels(series, timeline, baselines);
  const { frame } = built;
  const models = withoutRatesOfTheLoop(built.models, frame);
  return { timeline, notes: [...given.notes, ...timeline.notes], models, frame, rebuilt: rebuilt.any };
}

/** @param groups of the requests, where another thread has made them; null: they are made here where they are needed. */
export function judge(
  { input, tally, requests, parts, gathering, spans }: Found,
  { timeline, notes, models, frame, rebuilt }: Measured,
  options: AnalyzeOptions,
  groups: RequestGroups | null,
): Answer {
  const { activity, processes } = gathering;
  const windows = windowRows(requests, parts, timeline, activity, groups?.windows);
  const objective = options.objective ?? objectiveOfPlan(timeline.plan?.objective ?? null);
  const verdict = infer(
    {
      requests,
      parts,
      activity,
      processes,
      spans,
      models,
      frame,
      rows: windows,
      objective,
      trees: { counted: tally.trueRoots, orphans: requests.substitutes ? 0 : tally.orphanRoots },
      rebuilt,
      closedLoop: findClosedLoop(requests, timeline),
      metrics: input.metrics,
    },
    options.whatIf,
  );
  return {
    input,
    tally,
    requests,
    parts,
    ...(groups === null ? {} : { groups }),
    plan: timeline.plan,
    sampling: timeline.sampling,
    windows,
    resources: resourceRows(models, timeline),
    models,
    frame,
    recovery: recoveryOf(requests, timeline, verdict.kneePerSecond),
    verdict,
    notes: notes.map((text) => ({ id: 'load-plan', text })),
  };
}

/** What was held in spans whose waits or holds had to be rebuilt first. */
function cutAgain(
  { eachPart, gathering, requests }: Found,
  overlays: ReadonlyMap<number, readonly Overlay[]>,
): HostPieces {
  const { activity, index } = gathering;
  const pieces = new HostPieces();
  const holds = byRequest(activity.holds);
  eachPart((part) => {
    const { table } = part.forest;
    const readers = {
      queues: new SpanQueues(index, table, part.classes),
      statements: new StatementReader(table),
    };
    const own = holds.filter((i) => holdsRow(part, activity.holds.host[i]));
    cutHosts(
      pieces,
      part,
      readers,
      activity,
      own,
      { waits: 0, calls: 0 },
      (request) => requests.startNs[request],
      overlays,
    );
  });
  return pieces;
}

/** The plan of the options, else the only one of the input. */
function choosePlan(
  input: Input,
  options: AnalyzeOptions,
): { plan: LoadPlan | null; notes: readonly string[] } {
  if (options.loadPlan !== undefined) return parseLoadPlan(options.loadPlan);
  if (input.loadPlans.length === 0) return { plan: null, notes: [] };
  if (input.loadPlans.length > 1) {
    const paths = input.loadPlans.map(({ path }) => path).join(', ');
    return {
      plan: null,
      notes: [`several load plans were found (${paths}); none was used, choose one with --load`],
    };
  }
  const [{ path, content }] = input.loadPlans;
  return parseLoadPlan(content, path);
}
