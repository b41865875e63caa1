import { perArrival, type QueueModel } from '../aggregate/queue-model.ts';
import { topBlockers } from './blockers.ts';
import type { Capacities } from './capacities.ts';
import { exemplars } from './exemplars.ts';
import type { Facts, Inference } from './facts.ts';
import { LEAST_MOVABLE, movableParts } from './movable.ts';
import { duration, percent, perSecond, short } from './numbers.ts';
import { maxUtilization } from './saturation.ts';
import type { Statement } from './types.ts';

const LISTED = 5;

/** What the verdict rests on, in the order a reader asks for it. */
export function evidenceOf(facts: Facts, inference: Inference, capacities: Capacities): Statement[] {
  const out: Statement[] = [];
  const { first, knee, chain } = inference;
  if (inference.status !== 'saturated') {
    out.push({ id: 'status', text: inference.because });
    out.push(...headroom(facts));
    if (inference.status !== 'not-enough-data') out.push(objective(capacities));
    return out;
  }
  const model = first!.model;
  out.push(...aroundTheKnee(facts, model, knee!.perSecond));
  out.push(ownDemand(model));
  if (model.demandFlat !== null) out.push(flat(model));
  out.push({
    id: 'knee',
    resource: model.label,
    text: `knee ${perSecond(knee!.perSecond)}: ${knee!.how}`,
    values: { kneePerSecond: knee!.perSecond, saturatesAtPerSecond: model.saturatesAt, rule: first!.rule },
  });
  const inside = holdContents(model);
  if (inside) out.push(inside);
  const movable = movableTime(model);
  if (movable) out.push(movable);
  const blockers = topBlockers(facts, model, chain!.after);
  if (blockers) out.push(blockers);
  const after = chain!.after;
  for (const edge of chain!.edges) {
    out.push({
      id: 'chain-edge',
      resource: edge.effect.label,
      text: `${edge.cause.label} -> ${edge.effect.label}: its hold grew by ${duration(edge.holdGrowthNs)}, ${edge.share >= 0.995 ? 'all' : percent(edge.share)} of it waiting on ${edge.cause.label}`,
      values: { cause: edge.cause.name, holdGrowthNs: edge.holdGrowthNs, share: edge.share },
      traces: exemplars(facts, edge.cause, after),
    });
  }
  if (chain!.edges.length === 0) {
    out.push({
      id: 'longest-waits',
      resource: model.label,
      text: `longest waits on ${model.label} at and above the knee`,
      traces: exemplars(facts, model, after),
    });
  }
  for (const tie of first!.nearTies) {
    const distance = tie.saturatesAt === null ? null : tie.saturatesAt / first!.rate - 1;
    out.push({
      id: 'near-tie',
      resource: tie.label,
      text: `${tie.label} saturates alone at ${perSecond(tie.saturatesAt ?? first!.rate)}, ${percent(Math.abs(distance ?? 0))} from ${model.label} at ${perSecond(first!.rate)}: raising only one moves the knee by little`,
      values: { saturatesAtPerSecond: tie.saturatesAt, margin: distance },
    });
  }
  out.push(objective(capacities));
  const deep = deepOverload(facts, knee!.perSecond);
  if (deep) out.push(deep);
  return out;
}

/** Queues that are not the cause, with the rates that say so. */
export function ruledOutOf(facts: Facts, inference: Inference): Statement[] {
  const { first } = inference;
  if (first === null) return [];
  const named = new Set([first.model, ...first.nearTies]);
  const filled = new Set(inference.chain?.members ?? []);
  return facts.models
    .filter(
      (model) =>
        !named.has(model) && (model.saturatesAt !== null || maxUtilization(model, facts.frame) !== null),
    )
    .map((model) => {
      const u = model.utilization[facts.frame.timeline.top] ?? null;
      const alone =
        model.saturatesAt === null
          ? 'its rate alone is unknown'
          : `alone it saturates at ${perSecond(model.saturatesAt)}`;
      const use = u === null ? '' : `; utilisation ${short(u)} at ${perSecond(facts.frame.topRate)}`;
      const why = filled.has(model) ? ', filled by the queues inside it' : '';
      return {
        id: 'ruled-out',
        resource: model.label,
        text: `${model.label}: ${alone}${use}${why}`,
        values: { saturatesAtPerSecond: model.saturatesAt, utilization: u },
      };
    });
}

/** The ranked headroom table: demand and R do not depend on load, so one window is enough. */
function headroom(facts: Facts): Statement[] {
  const rate = facts.frame.topRate;
  return facts.models
    .filter((model) => model.saturatesAt !== null)
    .slice(0, LISTED)
    .map((model) => {
      const u = maxUtilization(model, facts.frame);
      const inside = holdContents(model);
      return {
        id: 'headroom',
        resource: model.label,
        text:
          `${model.label} saturates alone at about ${perSecond(model.saturatesAt!)}, ${short(model.saturatesAt! / rate)} times the ${perSecond(rate)} seen` +
          `${u === null ? '' : `; utilisation ${short(u)}`}${inside ? `; ${inside.text}` : ''}`,
        values: {
          saturatesAtPerSecond: model.saturatesAt,
          headroom: model.saturatesAt! / rate,
          utilization: u,
          ownDemandNs: model.demandNs,
        },
      };
    });
}

function aroundTheKnee(facts: Facts, model: QueueModel, knee: number): Statement[] {
  const { rising, timeline } = facts.frame;
  const rate = (w: number) => timeline.windows[w].arrivalsPerSecond;
  const below = rising.filter((w) => rate(w) < knee).at(-1);
  const above = rising.find((w) => rate(w) >= knee);
  return [below, above].flatMap((w) => {
    if (w === undefined) return [];
    const holds = model.lane.holds[w];
    const holdNs = holds > 0 ? model.lane.holdNs[w] / holds : null;
    const nestedNs = [...model.lane.nestedNs.values()].reduce((sum, sums) => sum + sums[w], 0);
    // Waits at servers are signed (rule 3): by chance their sum may be below 0.
    const ownNs = holdNs === null ? null : holdNs - Math.max(0, nestedNs) / holds;
    const waitNs = perArrival(model.series, model.series.waitNs, w);
    const u = model.utilization[w];
    return [
      {
        id: rate(w) < knee ? 'below-the-knee' : 'above-the-knee',
        resource: model.label,
        text:
          `at ${perSecond(rate(w))}: utilisation ${u === null ? 'unknown' : short(u)}, mean wait ${duration(waitNs)}` +
          `${holdNs === null ? '' : `, mean hold ${duration(holdNs)} = own ${duration(ownNs!)} + waits inside ${duration(holdNs - ownNs!)}`}`,
        values: {
          arrivalsPerSecond: rate(w),
          utilization: u,
          meanWaitNs: waitNs,
          meanHoldNs: holdNs,
          ownHoldNs: ownNs,
        },
      },
    ];
  });
}

function ownDemand(model: QueueModel): Statement {
  const perVisit = model.visits > 0 ? model.demandNs / model.visits : 0;
  const key = model.busiestKey === null ? '' : ` (busiest row, key ${model.busiestKey})`;
  return {
    id: 'own-demand',
    resource: model.label,
    text:
      `own demand ${duration(model.demandNs)} a request = ${short(model.visits)} visits x ${duration(perVisit)}${key}, ` +
      `${model.capacity === null ? 'capacity unknown' : `capacity ${short(model.capacity)}`}` +
      `${model.saturatesAt === null ? '' : ` -> ${perSecond(model.saturatesAt)} (${model.how})`}`,
    values: {
      ownDemandNs: model.demandNs,
      visitsPerRequest: model.visits,
      capacity: model.capacity,
      saturatesAtPerSecond: model.saturatesAt,
    },
  };
}

function flat(model: QueueModel): Statement {
  const change = (model.demandRatio ?? 1) - 1;
  const signed = `${change >= 0 ? '+' : ''}${percent(change)}`;
  return {
    id: model.demandFlat ? 'demand-flat' : 'demand-changes',
    resource: model.label,
    text: model.demandFlat
      ? `own demand is flat below the knee (${signed}): the cost did not grow, the queue did`
      : `own demand changes by ${signed} below the knee: the cost per request depends on load`,
    values: { demandRatio: model.demandRatio, visitsRatio: model.visitsRatio },
  };
}

function holdContents(model: QueueModel): Statement | null {
  const total = [...model.series.contents.values()].reduce((sum, part) => sum + part.ns, 0);
  if (total <= 0) return null;
  const parts = [...model.series.contents].sort((a, b) => b[1].ns - a[1].ns).slice(0, LISTED);
  return {
    id: 'hold-contents',
    resource: model.label,
    text: `inside the hold of ${model.label}: ${parts.map(([what, part]) => `${what} ${percent(part.ns / total)}`).join(', ')}`,
    values: Object.fromEntries(parts.map(([what, part]) => [what, part.ns / total])),
  };
}

/** Parts of the hold that do not need the resource, and what moving them out would give. */
function movableTime(model: QueueModel): Statement | null {
  const movable = movableParts(model);
  if (movable.share < LEAST_MOVABLE || model.saturatesAt === null) return null;
  const rate = model.saturatesAt / Math.max(0.02, 1 - movable.share);
  const what = movable.parts.slice(0, LISTED).join(', ');
  return {
    id: 'movable-time',
    resource: model.label,
    text: `${what}: ${percent(movable.share)} of the own time of the hold that does not need ${model.label}; moved out, it would saturate alone at about ${perSecond(rate)}`,
    values: { what, share: movable.share, saturatesAtPerSecond: rate },
  };
}

function objective(capacities: Capacities): Statement {
  return {
    id: 'objective',
    text: `${capacities.text}${capacities.assumed ? ' (objective assumed; state one with --objective)' : ''}`,
    values: {
      objectivePerSecond: capacities.objectivePerSecond,
      firstRejectPerSecond: capacities.firstRejectPerSecond,
    },
  };
}

/** Deep overload is shown apart: percentiles there say how long the step lasted. */
function deepOverload(facts: Facts, knee: number): Statement | null {
  const { top, windows } = facts.frame.timeline;
  const rate = windows[top].arrivalsPerSecond;
  if (rate < 1.15 * knee) return null;
  const row = facts.rows[top];
  return {
    id: 'deep-overload',
    text: `at ${perSecond(rate)}, ${percent(rate / knee - 1)} over the knee: goodput ${perSecond(row.goodputPerSecond)}, backlog ${row.accounting.inFlightStart} -> ${row.accounting.inFlightEnd} requests${row.stable === false ? ', still growing' : ''}`,
    values: {
      arrivalsPerSecond: rate,
      goodputPerSecond: row.goodputPerSecond,
      inFlightStart: row.accounting.inFlightStart,
      inFlightEnd: row.accounting.inFlightEnd,
    },
  };
}
