import type { ResourceRow, WindowRow } from '../../aggregate/types.ts';
import type { Analysis } from '../analysis.ts';
import { perSecond } from '../numbers.ts';
import type { NameOf } from './names-of-both.ts';
import type { Pair, SideBySide } from './types.ts';

/** Rates that differ by less are the same load. */
const SAME = 0.05;
const OVERLOAD_PHASES = new Set(['overload']);

/** Windows of both runs with the same offered rate (planned where planned); recovery is left out. */
export function sameLoad(before: Analysis, after: Analysis): SideBySide[] {
  return matched(before.windows, after.windows, offered).map(([a, b]) => ({
    at: `at ${perSecond(offered(a))} offered`,
    pairs: windowPairs(a, b),
  }));
}

/** Windows of both runs that completed equally many good requests a second, whatever was offered. */
export function sameThroughput(before: Analysis, after: Analysis): SideBySide[] {
  return matched(before.windows, after.windows, (row) => row.goodputPerSecond).map(([a, b]) => ({
    at: `at ${perSecond(a.goodputPerSecond)} good responses`,
    pairs: windowPairs(a, b),
  }));
}

/** The before run's first queue (the nearest to saturation without one), in both runs, at the highest common load. */
export function sameResource(before: Analysis, after: Analysis, nameOf: NameOf): SideBySide[] {
  const asked = before.verdict.first ?? before.verdict.next;
  if (asked === null) return [];
  const name = nameOf(asked);
  const isAsked = (row: ResourceRow) => row.resource === asked.resource && row.service === asked.service;
  const a = before.resources.find(isAsked);
  const b = after.resources.find(isAsked);
  if (!a) return [];
  const out: SideBySide[] = [
    {
      at: `${name}, whole run`,
      pairs: [
        { what: 'capacity', unit: 'count', before: a.capacity, after: b?.capacity ?? null },
        {
          what: 'visits a request',
          unit: 'count',
          before: a.visitsPerRequest,
          after: b?.visitsPerRequest ?? null,
        },
        { what: 'own demand a request', unit: 'ns', before: a.ownDemandNs, after: b?.ownDemandNs ?? null },
        {
          what: 'saturates alone at',
          unit: 'perSecond',
          before: a.saturatesAtPerSecond,
          after: b?.saturatesAtPerSecond ?? null,
        },
      ],
    },
  ];
  const common = matched(before.windows, after.windows, offered).at(-1);
  if (common) {
    const [x, y] = common;
    out.push({
      at: `${name} at ${perSecond(offered(x))} offered`,
      pairs: resourcePairs(a, before.windows.indexOf(x), b, after.windows.indexOf(y)),
    });
  }
  return out;
}

/** The highest step of each run, and how it recovered. */
export function overload(before: Analysis, after: Analysis): SideBySide[] {
  const a = topWindow(before.windows);
  const b = topWindow(after.windows);
  if (!a || !b) return [];
  const pairs: Pair[] = [
    { what: 'offered', unit: 'perSecond', before: offered(a), after: offered(b) },
    { what: 'goodput', unit: 'perSecond', before: a.goodputPerSecond, after: b.goodputPerSecond },
    { what: 'failed', unit: 'share', before: failedShare(a), after: failedShare(b) },
    {
      what: 'in flight at the end',
      unit: 'count',
      before: a.accounting.inFlightEnd,
      after: b.accounting.inFlightEnd,
    },
    {
      what: 'drained after',
      unit: 'ns',
      before: before.recovery?.drainNs ?? null,
      after: after.recovery?.drainNs ?? null,
    },
    {
      what: 'drain predicted',
      unit: 'ns',
      before: before.recovery?.predictedNs ?? null,
      after: after.recovery?.predictedNs ?? null,
    },
  ];
  return [{ at: 'highest step of each run', pairs }];
}

/** What one request costs at each queue of either run, in the windows below the knee. */
export function unitCosts(before: Analysis, after: Analysis, nameOf: NameOf): Pair[] {
  const queues = new Map(
    [...before.resources, ...after.resources]
      .filter((row) => row.ownDemandNs !== null)
      .map((row) => [nameOf(row), row]),
  );
  return [...queues].flatMap(([name, { resource, service, kind }]): Pair[] => {
    const rowOf = ({ resources }: Analysis) =>
      resources.find((row) => row.resource === resource && row.service === service);
    const a = rowOf(before);
    const b = rowOf(after);
    const ownNs: Pair = {
      what: kind === 'eventloop' ? name.replace('eventloop', LOOP_TIME) : `own time of ${name}`,
      unit: 'ns',
      before: a?.ownDemandNs ?? null,
      after: b?.ownDemandNs ?? null,
    };
    if (kind !== 'downstream') return [ownNs];
    const calls: Pair = {
      what: `calls to ${name}`,
      unit: 'count',
      before: a?.visitsPerRequest ?? null,
      after: b?.visitsPerRequest ?? null,
    };
    return [ownNs, calls];
  });
}

const LOOP_TIME = 'event-loop time (CPU and pauses)';

export function offered(row: WindowRow): number {
  return row.plannedPerSecond ?? row.receivedPerSecond;
}

export function failedShare(row: WindowRow): number | null {
  const all = Object.values(row.byOutcome).reduce((a, b) => a + b, 0);
  return all > 0 ? (all - row.byOutcome.success) / all : null;
}

export function topWindow(rows: readonly WindowRow[]): WindowRow | null {
  const marked = rows.filter((row) => OVERLOAD_PHASES.has(row.phase ?? ''));
  return [...(marked.length > 0 ? marked : rows)].sort((a, b) => offered(b) - offered(a))[0] ?? null;
}

function windowPairs(a: WindowRow, b: WindowRow): Pair[] {
  return [
    { what: 'goodput', unit: 'perSecond', before: a.goodputPerSecond, after: b.goodputPerSecond },
    { what: 'p50 of all', unit: 'ns', before: a.latencyNs.p50, after: b.latencyNs.p50 },
    { what: 'p99 of all', unit: 'ns', before: a.latencyNs.p99, after: b.latencyNs.p99 },
    { what: 'p99 of successes', unit: 'ns', before: a.goodLatencyNs.p99, after: b.goodLatencyNs.p99 },
    { what: 'failed', unit: 'share', before: failedShare(a), after: failedShare(b) },
    { what: 'backlog', unit: 'text', before: backlog(a), after: backlog(b) },
  ];
}

function backlog(row: WindowRow): string | null {
  return row.stable === null ? null : row.stable ? 'steady' : 'growing';
}

function resourcePairs(a: ResourceRow, i: number, b: ResourceRow | undefined, j: number): Pair[] {
  const x = a.windows[i];
  const y = b?.windows[j];
  return [
    { what: 'utilisation', unit: 'share', before: x.utilization, after: y?.utilization ?? null },
    { what: 'arrivals that wait', unit: 'share', before: x.pWait, after: y?.pWait ?? null },
    { what: 'mean wait', unit: 'ns', before: x.meanWaitNs, after: y?.meanWaitNs ?? null },
    { what: 'p99 wait', unit: 'ns', before: x.p99WaitNs, after: y?.p99WaitNs ?? null },
    { what: 'mean hold', unit: 'ns', before: x.meanHoldNs, after: y?.meanHoldNs ?? null },
  ];
}

/** Pairs of windows in which a value agrees within 5 %; each window once, ascending. */
function matched(
  before: readonly WindowRow[],
  after: readonly WindowRow[],
  value: (row: WindowRow) => number,
): [WindowRow, WindowRow][] {
  const left = after.filter((row) => row.phase !== 'recovery' && row.phase !== 'warmup');
  const pairs: [WindowRow, WindowRow][] = [];
  const ascending = before
    .filter((row) => row.phase !== 'recovery' && row.phase !== 'warmup' && value(row) > 0)
    .sort((a, b) => value(a) - value(b));
  for (const a of ascending) {
    const best = left
      .filter((b) => Math.abs(value(b) / value(a) - 1) <= SAME)
      .sort((b, c) => Math.abs(value(b) - value(a)) - Math.abs(value(c) - value(a)))[0];
    if (!best) continue;
    left.splice(left.indexOf(best), 1);
    pairs.push([a, best]);
  }
  return pairs;
}
