import type { Statement } from '../../infer/types.ts';
import { duration, number, percent } from '../../report/units.ts';
import type { Session } from '../session.ts';
import type { Queue } from './queues.ts';

/** @returns wait, hold and own demand of a queue in the selected step, in versions from long to short. */
export function costSentence({ row, at }: Queue): string[] {
  const waits = `wait ${duration(at?.meanWaitNs)} mean, ${duration(at?.p99WaitNs)} p99`;
  const held = `held ${duration(at?.meanHoldNs)}`;
  const age = at && at.oldestAgeNs !== null ? ` · oldest waiter ${duration(at.oldestAgeNs)}` : '';
  if (row.ownDemandNs === null)
    return [`${waits}${age} · ${held} · own demand unknown`, `${waits} · ${held}`, waits];
  const flat = row.demandFlat === null ? '' : row.demandFlat ? ' · flat over load' : ' · changes with load';
  const perVisit = row.visitsPerRequest ? row.ownDemandNs / row.visitsPerRequest : null;
  const own = `${duration(perVisit)} of its own × ${number(row.visitsPerRequest)} visits = ${duration(row.ownDemandNs)} a request`;
  const demand = `own demand ${duration(row.ownDemandNs)}`;
  return [
    `${waits}${age} · ${held} · ${own}${flat}`,
    `${waits} · ${held} · ${own}${flat}`,
    `${waits} · ${held} · ${own}`,
    `${waits} · ${held} · ${demand}`,
    `${waits} · ${held}`,
  ];
}

/** @returns what is lost at a queue over all steps: rejected, timed out; empty when nothing is. */
export function lossSentence({ row }: Queue): string {
  const sum = (of: 'rejected' | 'timedOut'): number =>
    row.windows.reduce((total, window) => total + window[of], 0);
  const parts = [
    [sum('rejected'), 'rejected'],
    [sum('timedOut'), 'timed out'],
  ] as const;
  return parts
    .filter(([n]) => n > 0)
    .map(([n, what]) => `${n} ${what}`)
    .join(' · ');
}

/** @returns what the analysis found out about one queue: wasted work, a hot instance, growing cost, … */
export function findingsOf(session: Session, resource: string): Statement[] {
  return session.report.verdict.findings.filter((finding) => finding.resource === resource);
}

/** @returns role, service and instances of a queue, from long to short. */
export function roleText({ row, rank }: Queue): string[] {
  const role = rank === 1 ? 'fills first' : rank > 1 ? 'filled by the queue before it' : (row.pattern ?? '');
  const hottest =
    row.hottestRatio !== null && row.instances > 1 ? ` · hottest ${number(row.hottestRatio)}× the mean` : '';
  const where = `${row.kind} of ${row.service}${row.instances > 1 ? `, ${row.instances} instances` : ''}`;
  const key = row.busiestKey ? ` · busiest row, key ${row.busiestKey.slice(0, 8)}` : '';
  const tail = role ? ` · ${role}` : '';
  return [`${where}${tail}${hottest}${key}`, `${where}${tail}${hottest}`, `${where}${tail}`, where];
}

/** Why a queue has no waits, by its kind. */
const NO_WAITS: Readonly<Partial<Record<Queue['row']['kind'], string>>> = {
  lock: 'row locks are recorded where @waitfall/instrumentation patches pg',
  pool: 'pool waits are recorded where @waitfall/instrumentation patches pg; an idle pool has none',
  admission: 'nobody had to wait for a slot, or requests are turned away at once',
  eventloop: 'event-loop waits are recorded where @waitfall/instrumentation is loaded',
  downstream: 'calls of another service show no queue of ours; its own spans would',
};

/** @returns why there is nothing to list, and what to do about it. */
export function noWaitsText({ row }: Queue): string {
  return `no ${row.kind} waits in this export: ${NO_WAITS[row.kind] ?? 'nobody waited, or the waits are not recorded'}`;
}

/** @returns shares of a tally as one line: `POST /signup 93 %, GET /x 7 %`. */
export function tallyTexts(all: readonly { readonly name: string; readonly totalNs: number }[]): string[] {
  const total = all.reduce((sum, { totalNs }) => sum + totalNs, 0);
  return all.map(({ name, totalNs }) => `${name} ${percent(totalNs / (total || 1))}`);
}
