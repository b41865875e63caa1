import { DEPTH } from '../aggregate/queue-kind.ts';
import type { Frame, QueueModel } from '../aggregate/queue-model.ts';
import type { Requests } from '../aggregate/requests-types.ts';
import { holdParts } from './saturation.ts';
import type { ChainLink } from './types.ts';

/** The hold of `effect` grew, and this share of the growth is waiting on `cause`. */
export interface Edge {
  readonly cause: QueueModel;
  readonly effect: QueueModel;
  readonly holdGrowthNs: number;
  readonly share: number;
}

export interface Chain {
  readonly links: readonly ChainLink[];
  readonly members: readonly QueueModel[];
  readonly edges: readonly Edge[];
  /** Windows compared. */
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** Rule 9 thresholds. */
const BEFORE = 0.55;
const AFTER = 0.97;
const HOLD_GROWTH = 0.12;
const HOLD_GROWTH_NS = 0.2e6;
const EDGE_SHARE = 0.2;
const MEMBER_NS = 1.5e6;
const MEMBER_SHARE = 0.04;

/**
 * Rule 9: which queues the first one fills. Compares windows below 0.55 × knee with those from 0.97 × knee; an edge
 * leads from q to r where r's hold grew and waiting on q is a good part of that growth; members are reachable from the
 * first queue and their waits grew noticeably. Order: inner to outer.
 */
export function findChain(
  first: QueueModel,
  knee: number,
  models: readonly QueueModel[],
  frame: Frame,
  requests: Requests,
): Chain {
  const { windows } = frame.timeline;
  const rate = (w: number) => windows[w].arrivalsPerSecond;
  let before = frame.rising.filter((w) => rate(w) <= BEFORE * knee);
  let after = frame.rising.filter((w) => rate(w) >= AFTER * knee);
  if (before.length === 0) before = frame.rising.slice(0, 1);
  if (after.length === 0) after = frame.rising.slice(-1);
  const latencyGrowth = meanLatency(requests, after) - meanLatency(requests, before);
  const threshold = Math.max(MEMBER_NS, MEMBER_SHARE * latencyGrowth);
  const byQueue = new Map(models.map((model) => [model.queue.index, model]));
  const edges: Edge[] = [];
  const waitGrowth = new Map<QueueModel, number>();
  for (const effect of models) {
    const a = holdParts(effect, before);
    const b = holdParts(effect, after);
    waitGrowth.set(effect, b.waitNs - a.waitNs);
    const holdGrowthNs = b.holdNs - a.holdNs;
    if (holdGrowthNs <= HOLD_GROWTH * a.holdNs || holdGrowthNs <= HOLD_GROWTH_NS) continue;
    for (const [queue, ns] of b.nestedNs) {
      const cause = byQueue.get(queue);
      const share = (ns - (a.nestedNs.get(queue) ?? 0)) / holdGrowthNs;
      if (cause && cause !== effect && share > EDGE_SHARE) edges.push({ cause, effect, holdGrowthNs, share });
    }
  }
  const reached = new Set([first]);
  for (let grew = true; grew; ) {
    grew = false;
    for (const { cause, effect } of edges) {
      if (reached.has(cause) && !reached.has(effect) && waitGrowth.get(effect)! > threshold) {
        reached.add(effect);
        grew = true;
      }
    }
  }
  reached.delete(first);
  const members = [first, ...[...reached].sort((a, b) => DEPTH[a.kind] - DEPTH[b.kind])];
  return {
    links: members.map((model, i) => linkOf(model, members.slice(0, i), edges)),
    members,
    edges: edges.filter(({ cause, effect }) => members.includes(cause) && members.includes(effect)),
    before,
    after,
  };
}

function linkOf(model: QueueModel, earlier: readonly QueueModel[], edges: readonly Edge[]): ChainLink {
  const link = { kind: model.kind, resource: model.name, service: model.queue.service };
  const incoming = edges
    .filter((edge) => edge.effect === model && earlier.includes(edge.cause))
    .sort((a, b) => b.share - a.share);
  const direct = incoming.find((edge) => edge.cause === earlier.at(-1)) ?? incoming[0];
  if (!direct) return { ...link, holdGrowthNs: null, share: null };
  return { ...link, holdGrowthNs: direct.holdGrowthNs, share: direct.share };
}

/** Weighted mean root duration of the requests of some windows, ns. */
export function meanLatency(requests: Requests, windows: readonly number[]): number {
  const chosen = new Set(windows);
  let ns = 0;
  let n = 0;
  for (let i = 0; i < requests.count; i++) {
    if (!chosen.has(requests.window[i])) continue;
    ns += requests.durationNs[i] * requests.weight[i];
    n += requests.weight[i];
  }
  return n > 0 ? ns / n : 0;
}
