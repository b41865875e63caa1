import type { Frame } from '../aggregate/queue-model.ts';
import type { WindowRow } from '../aggregate/types.ts';
import { duration, percent, perSecond } from './numbers.ts';
import type { Objective } from './objective.ts';

/** The rates at which the service stops keeping promises: three different ones (docs/report.md). */
export interface Capacities {
  /** Rate of the first rising window in which the objective is broken; null while it is met. */
  readonly objectivePerSecond: number | null;
  readonly firstRejectPerSecond: number | null;
  /** What was promised, and where it broke, for people. */
  readonly text: string;
  readonly assumed: boolean;
}

/** Without a stated objective: p99 of successful requests at most this multiple of its value at the lowest rate. */
const DEFAULT_P99_FACTOR = 3;
const DEFAULT_P99_LEAST_NS = 50e6;
const DEFAULT_ERRORS = 0.01;

/** Finds the lowest rising rate whose window breaks the objective, and the lowest at which requests were rejected. */
export function capacitiesOf(rows: readonly WindowRow[], frame: Frame, stated: Objective | null): Capacities {
  const objective = stated ?? defaultObjective(rows, frame);
  let broken: { rate: number; why: string } | null = null;
  let metAt: number | null = null;
  let firstReject: number | null = null;
  for (const w of frame.rising) {
    const rate = frame.timeline.windows[w].arrivalsPerSecond;
    const why = objective ? brokenBy(rows[w], objective) : null;
    if (why !== null) broken ??= { rate, why };
    else if (broken === null) metAt = rate;
    if (rows[w].byOutcome.rejected > 0) firstReject ??= rate;
  }
  const promised = objective ? textOf(objective) : 'none';
  return {
    objectivePerSecond: broken?.rate ?? null,
    firstRejectPerSecond: firstReject,
    text: broken
      ? `objective ${promised} is broken at ${perSecond(broken.rate)} (${broken.why})${metAt === null ? '' : `, still met at ${perSecond(metAt)}`}`
      : `objective ${promised} is met up to ${perSecond(frame.topRate)}`,
    assumed: stated === null,
  };
}

function defaultObjective(rows: readonly WindowRow[], frame: Frame): Objective | null {
  const p99 = frame.rising.length > 0 ? rows[frame.rising[0]].goodLatencyNs.p99 : null;
  if (p99 === null) return null;
  return { p99Ns: Math.max(DEFAULT_P99_LEAST_NS, DEFAULT_P99_FACTOR * p99), errorShare: DEFAULT_ERRORS };
}

function brokenBy(row: WindowRow, objective: Objective): string | null {
  const checks = [
    ['p50', objective.p50Ns, row.latencyNs.p50],
    ['p90', objective.p90Ns, row.latencyNs.p90],
    ['p95', objective.p95Ns, row.latencyNs.p95],
    ['p99', objective.p99Ns, row.latencyNs.p99],
    ['p99.9', objective.p999Ns, row.latencyNs.p999],
  ] as const;
  for (const [name, limit, value] of checks) {
    if (limit !== undefined && value !== null && value > limit) return `${name} ${duration(value)}`;
  }
  const all = Object.values(row.byOutcome).reduce((a, b) => a + b, 0);
  const failed = all > 0 ? (all - row.byOutcome.success) / all : 0;
  if (objective.errorShare !== undefined && failed > objective.errorShare) return `errors ${percent(failed)}`;
  if (objective.goodputPerSecond !== undefined && row.receivedPerSecond >= objective.goodputPerSecond) {
    if (row.goodputPerSecond < objective.goodputPerSecond)
      return `goodput ${perSecond(row.goodputPerSecond)}`;
  }
  return null;
}

function textOf(objective: Objective): string {
  const parts: string[] = [];
  if (objective.p50Ns !== undefined) parts.push(`p50 < ${duration(objective.p50Ns)}`);
  if (objective.p90Ns !== undefined) parts.push(`p90 < ${duration(objective.p90Ns)}`);
  if (objective.p95Ns !== undefined) parts.push(`p95 < ${duration(objective.p95Ns)}`);
  if (objective.p99Ns !== undefined) parts.push(`p99 < ${duration(objective.p99Ns)}`);
  if (objective.p999Ns !== undefined) parts.push(`p99.9 < ${duration(objective.p999Ns)}`);
  if (objective.errorShare !== undefined) parts.push(`errors < ${percent(objective.errorShare)}`);
  if (objective.goodputPerSecond !== undefined) {
    parts.push(`goodput > ${perSecond(objective.goodputPerSecond)}`);
  }
  return parts.join(', ');
}
