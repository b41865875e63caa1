import { DEPTH } from '../aggregate/queue-kind.ts';
import { type Frame, type QueueModel, topWindows } from '../aggregate/queue-model.ts';
import { LEAST_ELASTICITY, limiterOf, type Relief, reliefsOf, TOGETHER } from './reliefs.ts';
import {
  drivenUtilization,
  holdParts,
  isSaturated,
  lossesGrow,
  queueing,
  shareOfHoldGrowth,
} from './saturation.ts';
import { type Limit, limitsOf, type NetworkQueue, networkOf } from './service-network.ts';

/** What rule 7 decided, and by which of its parts. */
export interface FirstQueue {
  readonly model: QueueModel;
  /** Its rate: R, or what it really completed where R says it could not saturate (rule 7a). */
  readonly rate: number;
  readonly rule: '7' | '7a' | '7b';
  /** Other queues as good as this one: their relief helps as much, or all are full at once. */
  readonly nearTies: readonly QueueModel[];
}

/** Driven to at least this share of the limit. */
const DRIVEN = 0.9;
const DRIVEN_CLOSED = 0.82;
const USED = 0.75;
/** Erlang B: a queue that loses is busy less. */
const USED_LOSING = 0.45;
/** Rates this near cannot be told apart. */
export const NEAR_TIE = 1.15;
/** A relief this close to the best (share of it, or in elasticity) is as good an answer. */
const NEAR_SHARE = 0.5;
const NEAR_ELASTICITY = 0.08;
/** Where no single relief helps more than this, several queues are full at once. */
const TIED_ELASTICITY = 0.35;
const BUSY_OF_SAMPLE = 0.8;
const NEVER_IDLE = 0.95;
/** Rule 7a. */
const STRETCHED_FULL = 0.93;
const EARLIER = 0.93;
/** A full queue whose own service keeps its servers this busy is not stretched, whatever R says. */
const STRETCHED_OWN = 0.65;
/** Part of a hold that waiting on another queue must have become to be followed. */
const STRETCHED_SHARE = 0.1;
const IDLE_SERVER = 0.55;
const WAITED_SHARE = 0.1;
const LOOP_SHARE = 0.5;
const BEYOND_TOP = 1.02;
const FAR_BEYOND = 1.7;

/**
 * Rules 6 and 7. The first queue is that of the lowest limit of the network which the measurements confirm (it queues, and
 * was driven to it), and of the queues that fill each other there the one whose relief raises the limit most.
 *
 * @param models ascending by rate
 * @param possible whether a queue that nobody measures may be the cause (see {@link holdsBacklog})
 * @returns null when nothing is saturated
 */
export function findFirst(
  models: readonly QueueModel[],
  frame: Frame,
  closed = false,
  possible: (model: QueueModel) => boolean = () => true,
): FirstQueue | null {
  if (!models.some((model) => possible(model) && isSaturated(model, frame, closed))) return null;
  const reached = frame.topRate / (closed ? DRIVEN_CLOSED : DRIVEN);
  const { network, lowest } = confirmed(models, frame, reached, possible);
  const stretched = followStretchedHold(models, frame, lowest?.perSecond ?? Number.POSITIVE_INFINITY);
  if (lowest === null) return stretched && { ...stretched, rule: '7a', nearTies: [] };
  const reliefs = reliefsOf(network, lowest).filter(
    ({ queue }) => possible(queue.model) && queueing(queue.model, frame),
  );
  const limiter = limiterOf(network, lowest, reliefs);
  const best = stoodIdle(limiter.model, frame, lowest.perSecond)
    ? lowest.queue
    : (fullByItself(limiter, reliefs, frame, lowest) ?? limiter);
  const follows =
    stretched !== null && stretched.model !== best.model && !isClearOfSample(best, reliefs, frame);
  if (follows) return { ...stretched, rule: '7a', nearTies: [] };
  const ties = nearTies(best, reliefs, frame, reached);
  const inner = reliefs[0]?.elasticity < TIED_ELASTICITY ? innerOf(best.model, ties, frame) : null;
  const model = inner ?? best.model;
  return {
    model,
    rate: model.saturatesAt ?? lowest.perSecond,
    rule: inner === null ? '7' : '7b',
    nearTies: [best.model, ...ties].filter((one) => one !== model),
  };
}

/**
 * Where no relief helps much, what is full by its own demand at the limit, and never idle, goes before one that was not
 * even full and only stretches the holds of others.
 */
function fullByItself(
  limiter: NetworkQueue,
  reliefs: readonly Relief[],
  frame: Frame,
  lowest: Limit,
): NetworkQueue | null {
  const most = reliefs[0]?.elasticity ?? 0;
  const isFull = ({ model }: NetworkQueue) => (drivenUtilization(model, frame) ?? 1) >= NEVER_IDLE;
  if (most >= TIED_ELASTICITY || isFull(limiter)) return null;
  const full = reliefs
    .map(({ queue }) => queue)
    .filter((queue) => queue.alonePerSecond! <= TOGETHER * lowest.perSecond && isFull(queue));
  return full.reduce<NetworkQueue | null>(
    (a, b) => (a === null || b.alonePerSecond! < a.alonePerSecond! ? b : a),
    null,
  );
}

/** Nobody waited there more than before, and servers were free, or calls hardly slower: whatever its rate, it was not the limit. */
function stoodIdle(model: QueueModel, frame: Frame, perSecond: number): boolean {
  if (queueing(model, frame)) return false;
  const free = (drivenUtilization(model, frame, perSecond) ?? 1) < USED;
  return free || model.topWaitNs < WAITED_SHARE * model.meanHoldNs;
}

/** Of a sample, single windows look full by chance: what the network says clearly of a busy queue stands against rule 7a. */
function isClearOfSample(best: NetworkQueue, reliefs: readonly Relief[], frame: Frame): boolean {
  if (frame.timeline.sampling.kind === 'none') return false;
  const busy = drivenUtilization(best.model, frame) ?? 0;
  return reliefs[0]?.queue === best && reliefs[0].elasticity >= TIED_ELASTICITY && busy >= BUSY_OF_SAMPLE;
}

/**
 * The network without the queues that the measurements contradict (their rate was offered, yet they did not queue or
 * stayed idle), and its lowest limit that was reached.
 */
function confirmed(
  models: readonly QueueModel[],
  frame: Frame,
  reached: number,
  possible: (model: QueueModel) => boolean,
): { network: readonly NetworkQueue[]; lowest: Limit | null } {
  let network: readonly NetworkQueue[] = networkOf(models, frame);
  for (;;) {
    const [lowest] = limitsOf(network);
    if (lowest === undefined || lowest.perSecond > reached) return { network, lowest: null };
    const { model } = lowest.queue;
    const used = usedAt(model, frame, lowest.perSecond);
    const enough = used >= (lossesGrow(model) ? USED_LOSING : USED);
    if (possible(model) && queueing(model, frame) && enough) return { network, lowest };
    network = network.map((queue) =>
      queue === lowest.queue ? { ...queue, alonePerSecond: null, servers: null } : queue,
    );
  }
}

/** How busy a queue was at a limit; of a sample, whose single windows scatter, at least as busy as over the top windows. */
function usedAt(model: QueueModel, frame: Frame, perSecond: number): number {
  const used = drivenUtilization(model, frame, perSecond) ?? 1;
  return frame.timeline.sampling.kind === 'none' ? used : Math.max(used, topUtilization(model, frame));
}

/** Queues whose relief helps about as much as the best; where none helps much, also those whose own rates are as low. */
function nearTies(
  best: NetworkQueue,
  reliefs: readonly Relief[],
  frame: Frame,
  reached: number,
): QueueModel[] {
  const most = reliefs[0]?.elasticity ?? 0;
  const tied = most < TIED_ELASTICITY;
  const near = reliefs.filter(({ queue, elasticity }) => {
    if (queue === best) return false;
    const helps = elasticity >= LEAST_ELASTICITY;
    if (helps && (elasticity >= NEAR_SHARE * most || elasticity >= most - NEAR_ELASTICITY)) return true;
    const alone = queue.alonePerSecond!;
    const used = drivenUtilization(queue.model, frame) ?? 1;
    return tied && alone <= reached && alone < NEAR_TIE * best.alonePerSecond! && used >= USED;
  });
  return near.map(({ queue }) => queue.model);
}

/** Rule 7b: of queues that saturate together an inner one whose waits are what the outer hold grew by. */
function innerOf(outer: QueueModel, ties: readonly QueueModel[], frame: Frame): QueueModel | null {
  const top = frame.rising.slice(-2);
  const fills = (inner: QueueModel) =>
    DEPTH[inner.kind] < DEPTH[outer.kind] && shareOfHoldGrowth(outer, inner, frame.pre, top, 0.15) > 0.5;
  return ties.find(fills) ?? null;
}

/**
 * Rule 7a: something is full at a rate clearly below its own R and below the R of every queue that could be the first:
 * its hold was stretched. From the innermost such queue, follow the largest nested growth (> 20 % of a hold that grew
 * > 10 %) to a queue that can be full there by itself, or to a leaf.
 *
 * @param limit R of the candidate of rule 7
 */
function followStretchedHold(
  models: readonly QueueModel[],
  frame: Frame,
  limit: number,
): { model: QueueModel; rate: number } | null {
  const { windows } = frame.timeline;
  const early = frame.rising.filter((w) => windows[w].arrivalsPerSecond < EARLIER * limit);
  const fullEarly = (m: QueueModel) =>
    early.some(
      (w) =>
        (m.utilization[w] ?? 0) > STRETCHED_FULL &&
        ownUtilization(m, w) < STRETCHED_OWN &&
        (m.saturatesAt ?? Number.POSITIVE_INFINITY) > BEYOND_TOP * windows[w].arrivalsPerSecond,
    );
  const full = models
    .filter((m) => m.kind !== 'downstream' && m.kind !== 'eventloop' && fullEarly(m))
    .sort((a, b) => DEPTH[a.kind] - DEPTH[b.kind]);
  let current = full[0];
  if (!current) return null;
  const fullAt = early.filter((w) => (current.utilization[w] ?? 0) > STRETCHED_FULL);
  const reached = windows[fullAt[0]].arrivalsPerSecond;
  const seen = new Set<QueueModel>();
  while (!seen.has(current) && (current.saturatesAt ?? Number.POSITIVE_INFINITY) > BEYOND_TOP * reached) {
    seen.add(current);
    const next = largestNestedGrowth(current, models, frame, seen);
    if (next === null) break;
    current = next;
  }
  // By chance a small queue is full for a while: what is far from its own rate fills nothing.
  if ((current.saturatesAt ?? 0) > FAR_BEYOND * frame.topRate) return null;
  let rate = Math.min(current.saturatesAt ?? Number.POSITIVE_INFINITY, reached);
  if (current.kind === 'downstream' && current.visits > 0) {
    const completed = topWindows(frame.rising).map(
      (w) => current.series.completions[w] / windows[w].seconds / current.visits,
    );
    rate = Math.max(...completed);
  }
  return { model: current, rate };
}

/** Mean utilisation of the top windows; 1 where it is unknown. */
function topUtilization(model: QueueModel, frame: Frame): number {
  const known = topWindows(frame.rising).flatMap((w) => model.utilization[w] ?? []);
  return known.length > 0 ? known.reduce((a, b) => a + b, 0) / known.length : 1;
}

/** Utilisation by its own service alone: without the waits nested in its holds. */
function ownUtilization(model: QueueModel, w: number): number {
  const { lane } = model;
  let nestedNs = 0;
  for (const sums of lane.nestedNs.values()) nestedNs += sums[w];
  const own = lane.holdNs[w] > 0 ? Math.max(0, 1 - nestedNs / lane.holdNs[w]) : 1;
  return (model.utilization[w] ?? 0) * own;
}

function largestNestedGrowth(
  outer: QueueModel,
  models: readonly QueueModel[],
  frame: Frame,
  seen: ReadonlySet<QueueModel>,
): QueueModel | null {
  const before = holdParts(outer, frame.lows);
  const after = holdParts(outer, topWindows(frame.rising));
  const growthNs = after.holdNs - before.holdNs;
  if (growthNs <= 0.1 * before.holdNs) return null;
  const ranked = [...after.nestedNs]
    .map(([queue, ns]) => ({ queue, growth: ns - (before.nestedNs.get(queue) ?? 0) }))
    .filter(({ growth }) => growth > 0.2 * growthNs && growth > STRETCHED_SHARE * after.holdNs)
    .sort((a, b) => b.growth - a.growth);
  const modelOf = (queue: number) => models.find((m) => m.queue.index === queue);
  // Rebuilt calls end when their callback runs: a server seems slower by much of what the loop is.
  const loop = outer.queue.holdsRebuilt
    ? ranked.find(({ queue }) => modelOf(queue)?.kind === 'eventloop')
    : undefined;
  if (loop && loop.growth >= LOOP_SHARE * ranked[0].growth && modelOf(ranked[0].queue)?.kind === 'downstream')
    ranked.unshift(loop);
  for (const { queue } of ranked) {
    const model = modelOf(queue);
    if (!model || seen.has(model)) continue;
    // Servers that were half idle make others wait by chance, but are not what fills the service.
    if (model.kind === 'downstream' && topUtilization(model, frame) < IDLE_SERVER) continue;
    // Costs that grow (with time, by chance) stretch holds as well, but hardly anybody waits there.
    if (!queueing(model, frame)) continue;
    if (model.kind === 'downstream' && model.topWaitNs < WAITED_SHARE * model.meanHoldNs) continue;
    return model;
  }
  return null;
}
