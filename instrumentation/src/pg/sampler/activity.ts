import { type SpanContext, TraceFlags, trace } from '@opentelemetry/api';
import { parsePlan } from '../sql/parse.ts';
import type { ActivityRow } from './lock-query.ts';

const TRACEPARENT = /(?:^|traceparent=')00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;
/** Texts whose summary is remembered: a service runs few, and each holder shows one again. */
const MAX_SUMMARIES = 200;

/** One look at the server, by process. */
export class Activity {
  readonly #rows = new Map<number, ActivityRow>();

  constructor(rows: readonly ActivityRow[]) {
    for (const row of rows) this.#rows.set(row.pid, row);
  }

  get rows(): Iterable<ActivityRow> {
    return this.#rows.values();
  }

  of(pid: number): ActivityRow | undefined {
    return this.#rows.get(pid);
  }

  /** @returns who holds up a waiter in the end: the first on every way along blockers that waits for nobody. */
  rootHolders(pid: number): number[] {
    const roots: number[] = [];
    const seen = new Set([pid]);
    const next = [...(this.#rows.get(pid)?.blockers ?? [])];
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      const { blockers } = this.#rows.get(at) ?? {};
      if (blockers === null || blockers === undefined || blockers.length === 0) roots.push(at);
      else next.push(...blockers);
    }
    return roots;
  }
}

/** @returns whether a process waits for a lock. */
export function isWaiting(row: ActivityRow): boolean {
  return row.locktype !== null;
}

/**
 * @returns whether a process was given a lock and has not woken up yet. On a row many want it then waits for the
 * next holder.
 */
export function isChanging(row: ActivityRow): boolean {
  return row.locktype === null && row.wait_event_type === 'Lock';
}

/** @returns whether the role may not see what a process runs. */
export function isHidden(row: ActivityRow): boolean {
  return row.state === null;
}

/**
 * @returns what a process does in one word and one name: `CPU` where it waits for nothing, `WALSync` apart from
 * other I/O because a commit waits for it.
 */
export function waitEventOf(row: ActivityRow): string {
  if (row.state !== null && row.state !== 'active') return 'ClientRead';
  if (row.wait_event_type === null) return 'CPU';
  if (/^wal_?sync$/i.test(row.wait_event ?? '')) return 'WALSync';
  if (row.wait_event === 'ClientRead') return 'ClientRead';
  return `${row.wait_event_type}:${row.wait_event}`;
}

/** @returns the span that a statement's comment, or the connection's name, says it belongs to; sampled ones only. */
export function spanOf(row: ActivityRow): SpanContext | undefined {
  const match = TRACEPARENT.exec(row.query ?? '') ?? TRACEPARENT.exec(row.application_name ?? '');
  if (match === null || (Number.parseInt(match[3], 16) & TraceFlags.SAMPLED) === 0) return undefined;
  const span = { traceId: match[1], spanId: match[2], traceFlags: TraceFlags.SAMPLED, isRemote: true };
  return trace.isSpanContextValid(span) ? span : undefined;
}

/** @returns operation and table of a statement, never a value; undefined where the role may not see it. */
export function summaryOf(row: ActivityRow): string | undefined {
  const { query } = row;
  if (isHidden(row) || query === null) return undefined;
  let summary = summaries.get(query);
  if (summary === undefined) {
    summary =
      parsePlan(query).locks.find((lock) => lock.guessed !== true)?.summary ??
      /^[\s(]*([A-Za-z]+)/.exec(query)?.[1].toUpperCase() ??
      '';
    if (summaries.size >= MAX_SUMMARIES) summaries.clear();
    summaries.set(query, summary);
  }
  return summary === '' ? undefined : summary;
}

const summaries = new Map<string, string>();

/** @returns the queue a waiter stands in. @param relation what its statement locks first, for rows of no known table. */
export function lockResource(row: ActivityRow, relation: string | undefined): string {
  switch (row.locktype) {
    case 'relation':
    case 'tuple':
    case 'transactionid':
    case 'extend':
    case 'page':
      return row.relation ?? relation ?? row.locktype;
    default:
      return row.locktype ?? 'unknown';
  }
}

/** @returns how many can have the lock at a time, where the kind of lock tells. */
export function lockCapacity(row: ActivityRow): number | undefined {
  const isExclusive = row.mode === 'ExclusiveLock' || row.mode === 'AccessExclusiveLock';
  return row.locktype === 'tuple' || row.locktype === 'transactionid' || isExclusive ? 1 : undefined;
}
