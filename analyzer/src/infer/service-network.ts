import { DEPTH } from '../aggregate/queue-kind.ts';
import type { Frame, QueueModel } from '../aggregate/queue-model.ts';
import { closedThroughput, type Station } from './closed-network.ts';

/** One queue as a part of the whole service: what a change may alter. Times in ns per request. */
export interface NetworkQueue {
  readonly model: QueueModel;
  readonly servers: number | null;
  readonly demandNs: number;
  /** R: the rate at which it saturates alone; null = unknown. */
  readonly alonePerSecond: number | null;
  /** Own demand of other queues (by index) that lies inside its holds. */
  readonly insideNs: ReadonlyMap<number, number>;
  /** Waits for event loops (by index) inside its holds. */
  readonly loopWaits: ReadonlyMap<number, LoopWait>;
}

/** Waits for a loop at its load ρ: always + atEvenOdds × about ρ / (1 − ρ), ns per request. */
export interface LoopWait {
  readonly alwaysNs: number;
  readonly atEvenOddsNs: number;
}

/** The rate at which one queue is full together with what its holds wait for. */
export interface Limit {
  readonly queue: NetworkQueue;
  readonly perSecond: number;
  /** Of this queue and those that fill it there, the one that saturates first. */
  readonly cause: NetworkQueue;
}

/** As in rule 7a: with less own service than this, the loop that stretches the hold is the cause. */
const OWN = 0.65;

const STEPS = 40;
/** A server's share left by the rest of the service is at least this. */
const LEAST_LEFT = 0.05;

/** The first queue of today, its rate alone, and what the service really sustains. */
export interface Present {
  readonly first: QueueModel;
  readonly rate: number;
  readonly kneePerSecond: number;
}

/** Which of the bounds of R is taken where it is known only between two. */
export type Bound = 'low' | 'best' | 'high';

/**
 * All queues as a network. `present` replaces R of the first queue where the decision used another rate (rule 7a), and no
 * other queue has a lower rate than what the service was seen to sustain.
 */
export function networkOf(
  models: readonly QueueModel[],
  frame: Frame,
  present: Present | null = null,
  bound: Bound = 'best',
): NetworkQueue[] {
  const aloneOf = (model: QueueModel): number | null => {
    if (present?.first === model) return Math.min(present.rate, model.saturatesAt ?? present.rate);
    const alone =
      bound === 'best' || model.saturatesBetween === null ? model.saturatesAt : model.saturatesBetween[bound];
    const sustained = present?.kneePerSecond ?? 0;
    if (alone === null || alone >= sustained) return alone;
    // It was seen to do more: a rate that rests on nothing but completions is then none, any other one is too low.
    return model.capacity === null ? null : sustained;
  };
  return models.map((model) => {
    const insideNs = new Map<number, number>();
    const waits = new Map<number, LoopWait>();
    for (const other of models) {
      if (other === model) continue;
      const shared = sharedDemand(model, other, frame);
      if (shared > 0) insideNs.set(other.queue.index, shared);
      const limit = aloneOf(other);
      if (other.kind !== 'eventloop' || limit === null) continue;
      const wait = loopWaits(model, other, limit, frame);
      if (wait !== null) waits.set(other.queue.index, wait);
    }
    return {
      model,
      servers: model.capacity,
      demandNs: model.demandNs,
      alonePerSecond: aloneOf(model),
      insideNs,
      loopWaits: waits,
    };
  });
}

/**
 * Rates at which each queue is full, the lowest first. A queue alone is full at R; one whose holds wait for others is
 * full earlier: at the rate that its servers, as customers of a closed network of the queues inside, can bring through.
 */
export function limitsOf(network: readonly NetworkQueue[]): Limit[] {
  const byIndex = new Map(network.map((queue) => [queue.model.queue.index, queue]));
  return network
    .flatMap((queue): Limit[] => {
      const perSecond = fullAt(queue, byIndex);
      return perSecond === null ? [] : [{ queue, perSecond, cause: causeOf(queue, perSecond, byIndex) }];
    })
    .sort((a, b) => a.perSecond - b.perSecond);
}

/** A pool full of holders that queue for a row is not the cause, nor is a queue whose hold is mostly waiting for a loop. */
function causeOf(
  queue: NetworkQueue,
  perSecond: number,
  byIndex: ReadonlyMap<number, NetworkQueue>,
): NetworkQueue {
  const cause = innerQueues(queue, byIndex).reduce(
    (a, b) => (b.alonePerSecond! < a.alonePerSecond! ? b : a),
    queue,
  );
  if (perSecond >= OWN * cause.alonePerSecond!) return cause;
  const [loop] = [...cause.loopWaits].sort((a, b) => b[1].atEvenOddsNs - a[1].atEvenOddsNs);
  return loop ? byIndex.get(loop[0])! : cause;
}

/** Queues with servers of their own inside the holds of another one. */
function innerQueues(outer: NetworkQueue, byIndex: ReadonlyMap<number, NetworkQueue>): NetworkQueue[] {
  return [...outer.insideNs.keys()].flatMap((index) => {
    const inner = byIndex.get(index);
    return inner !== undefined &&
      inner.model.kind !== 'eventloop' &&
      inner.servers !== null &&
      inner.alonePerSecond !== null &&
      DEPTH[inner.model.kind] < DEPTH[outer.model.kind]
      ? [inner]
      : [];
  });
}

function fullAt(queue: NetworkQueue, byIndex: ReadonlyMap<number, NetworkQueue>): number | null {
  const alone = queue.alonePerSecond;
  if (alone === null) return null;
  const { model, servers, demandNs } = queue;
  if (model.kind === 'eventloop' || model.kind === 'downstream' || servers === null || demandNs <= 0) {
    return alone;
  }
  const inner = innerQueues(queue, byIndex);
  if (inner.length === 0 && queue.loopWaits.size === 0) return alone;
  // A hot instance, or a rate found otherwise than by capacity / demand, leaves less than all servers to use.
  const customers = (alone * demandNs) / 1e9;
  let low = 0;
  let high = alone;
  for (let step = 0; step < STEPS; step++) {
    const rate = (low + high) / 2;
    if (throughputAt(rate, queue, customers, inner, byIndex) >= rate) low = rate;
    else high = rate;
  }
  return low;
}

/** What the holders of a queue bring through while the whole service runs at a rate. */
function throughputAt(
  rate: number,
  queue: NetworkQueue,
  customers: number,
  inner: readonly NetworkQueue[],
  byIndex: ReadonlyMap<number, NetworkQueue>,
): number {
  const stations: Station[] = [];
  let delayNs = queue.demandNs + loopWaitAt(rate, queue, byIndex);
  if (!Number.isFinite(delayNs)) return 0;
  for (const station of inner) {
    // Of a lock only the busiest row is a station; holds of other rows are part of the delay.
    const wholeNs = Math.min(station.demandNs, queue.insideNs.get(station.model.queue.index) ?? 0);
    const part = station.demandNs > 0 ? wholeNs / station.demandNs : 0;
    // What this station's own holds spend at queues further inside is those queues' time.
    const deeperNs = inner.reduce(
      (sum, deeper) => sum + (deeper === station ? 0 : (station.insideNs.get(deeper.model.queue.index) ?? 0)),
      0,
    );
    const ownNs = Math.max(0, wholeNs - part * deeperNs);
    const stretchedNs = ownNs + part * loopWaitAt(rate, station, byIndex);
    const servers = Math.max(1, Math.round(station.servers!));
    const alone = station.alonePerSecond!;
    // Less than all its servers where one instance is hot, or R was found otherwise, or where others use them too.
    const usable = Math.min(1, (alone * station.demandNs) / 1e9 / servers);
    const left = usable * (1 - ((1 - part) * rate) / alone);
    stations.push({ demandNs: stretchedNs / Math.max(LEAST_LEFT, left), servers });
    delayNs -= stretchedNs;
  }
  return closedThroughput(customers, Math.max(0, delayNs), stations);
}

/** Waits for the loops inside a queue's holds at a rate, ns per request; infinite from the loop's own R on. */
function loopWaitAt(rate: number, queue: NetworkQueue, byIndex: ReadonlyMap<number, NetworkQueue>): number {
  let ns = 0;
  for (const [index, { alwaysNs, atEvenOddsNs }] of queue.loopWaits) {
    const limit = byIndex.get(index)?.alonePerSecond ?? null;
    if (limit === null) continue;
    if (rate >= limit) return Number.POSITIVE_INFINITY;
    ns += alwaysNs + atEvenOddsNs * oddsOf(rate / limit);
  }
  return ns;
}

/** Requests that can stand at a loop at one time: what is full around it lets no more in. */
const POPULATION = 15;

/** ρ / (1 − ρ), what an arrival meets at a queue of load ρ (M/G/1), bounded by the {@link POPULATION}. */
function oddsOf(load: number): number {
  return load / (1 - load + load / POPULATION);
}

/** Rates below the knee must differ by this factor to tell what grows with load from what is always there. */
const APART = 1.3;

/**
 * Everything waits for the loop at the offered rate, so its waits grow like ρ / (1 − ρ), whatever the queue around
 * them does, until all it lets in stand at the loop; a part is always there (callbacks of one turn wait for each other). By least squares over the windows below
 * the knee; all of it is taken to grow where they cannot tell.
 */
function loopWaits(model: QueueModel, loop: QueueModel, loopRate: number, frame: Frame): LoopWait | null {
  const nested = model.lane.nestedNs.get(loop.queue.index);
  if (!nested || model.kind === 'downstream') return null;
  const points: { g: number; ns: number; weight: number; perSecond: number }[] = [];
  for (const w of frame.pre) {
    const { arrivalsPerSecond, requests } = frame.timeline.windows[w];
    const load = arrivalsPerSecond / loopRate;
    if (requests === 0 || load >= 1) continue;
    const perSecond = arrivalsPerSecond;
    points.push({ g: oddsOf(load), ns: nested[w] / requests, weight: requests, perSecond });
  }
  const sum = (of: (p: (typeof points)[number]) => number) =>
    points.reduce((total, p) => total + p.weight * of(p), 0);
  const n = sum(() => 1);
  if (n === 0) return null;
  const rates = points.map((p) => p.perSecond);
  const throughZero = sum((p) => p.ns * p.g) / sum((p) => p.g * p.g);
  if (throughZero <= 0) return null;
  if (Math.max(...rates) < APART * Math.min(...rates)) return { alwaysNs: 0, atEvenOddsNs: throughZero };
  const mg = sum((p) => p.g) / n;
  const mns = sum((p) => p.ns) / n;
  const slope = sum((p) => (p.g - mg) * (p.ns - mns)) / sum((p) => (p.g - mg) ** 2);
  // No part of it is negative.
  if (slope <= 0) return { alwaysNs: Math.max(0, mns), atEvenOddsNs: 0 };
  if (slope >= throughZero) return { alwaysNs: 0, atEvenOddsNs: throughZero };
  return { alwaysNs: mns - slope * mg, atEvenOddsNs: slope };
}

/** Own demand of `inner`, ns per request, that lies in the holds of `outer` (its services, for servers and loops). */
function sharedDemand(outer: QueueModel, inner: QueueModel, frame: Frame): number {
  const served = outer.serviceNs.get(inner.queue.index);
  if (served !== undefined) return served;
  if (inner.kind === 'eventloop' || inner.kind === 'downstream') return 0;
  if (outer.kind === 'eventloop' || outer.kind === 'downstream') return 0;
  const together = outer.series.togetherNs.get(inner.queue.index);
  if (!together) return 0;
  let ns = 0;
  let n = 0;
  for (const w of frame.pre) {
    n += frame.timeline.windows[w].requests;
    ns += together[w];
  }
  if (n === 0) return 0;
  // Of the time held together only the own part of the inner hold is its demand.
  const own = Math.min(1, inner.demandNs / Math.max(1, inner.visits * inner.meanHoldNs));
  return Math.min(outer.demandNs, (ns / n) * own);
}
