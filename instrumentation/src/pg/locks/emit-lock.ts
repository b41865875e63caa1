import { type Attributes, type Context, type Link, trace } from '@opentelemetry/api';
import {
  ATTR_BLOCKER_AGE_NS,
  ATTR_BLOCKER_STATE,
  ATTR_BLOCKER_STATEMENT,
  ATTR_ESTIMATE_MAX_NS,
  ATTR_ESTIMATE_MIN_NS,
  ATTR_ESTIMATED,
  ATTR_LINK,
  ATTR_LINK_SAMPLES,
  ATTR_LOCK_KEY,
  LINK_BLOCKED_BY,
  MAX_BLOCKED_BY_LINKS,
  type Outcome,
  PREFIX_LOCK,
} from '../../conventions.ts';
import { durationNs } from '../../core/clock.ts';
import { countTime, emitSegment, isSampled } from '../../core/emit.ts';
import { observer } from '../sampler/observer.ts';
import { runningBlocker } from './claim.ts';
import type { InferredWait } from './infer-wait.ts';
import type { LockHold, Row } from './row.ts';
import type { DatabaseRows } from './rows.ts';

/** Who had the row when a statement for it was sent. */
export interface Blocker {
  readonly statement: string;
  readonly state: 'active' | 'idle in transaction';
  readonly ageMs: number;
}

/** One `lock_wait` span: a wait, a hold, or both. */
export interface LockRecord {
  readonly rows: DatabaseRows;
  readonly row: Row;
  readonly parent: Context;
  readonly hasStatementSpan: boolean;
  /** Null where nothing was waited for: the span then has no length and says who held, and how long. */
  readonly wait: InferredWait | null;
  readonly grantedMs: number;
  readonly outcome: Outcome;
  readonly errorType: string | undefined;
  readonly inUse: number;
  readonly queueDepth: number;
  readonly blocker: Blocker | undefined;
  readonly holdMs: number | undefined;
  /** Which row it is was guessed from the name of a column. */
  readonly guessed: boolean;
  /** When within its statement the row was taken was assumed: its hold is at most this long. */
  readonly assumed: boolean;
  /** Its hold lies inside one reply and is not known; the visit is. */
  readonly autocommit: boolean;
}

export function emitLock(record: LockRecord): void {
  const { wait, parent, row } = record;
  const startMs = wait?.startMs ?? record.grantedMs;
  const endMs = wait?.endMs ?? record.grantedMs;
  if (wait !== null) countTime(parent, 'lock_wait', startMs, endMs);
  if (!isSampled(parent)) return;
  const attributes: Attributes = { [ATTR_LOCK_KEY]: record.rows.hashOf(row) };
  const isEstimate = record.autocommit || record.guessed || record.assumed || wait?.estimated === true;
  if (isEstimate) attributes[ATTR_ESTIMATED] = true;
  let links: Link[] | undefined;
  if (wait !== null) {
    attributes[ATTR_ESTIMATE_MIN_NS] = durationNs(0, wait.minMs);
    attributes[ATTR_ESTIMATE_MAX_NS] = durationNs(0, wait.maxMs);
    const blocker = record.blocker ?? runningBlocker(wait.blockers, wait.startMs);
    if (blocker !== undefined && wait.blockers.length > 0) {
      attributes[ATTR_BLOCKER_STATEMENT] = blocker.statement;
      attributes[ATTR_BLOCKER_STATE] = blocker.state;
      attributes[ATTR_BLOCKER_AGE_NS] = durationNs(0, blocker.ageMs);
    }
    links = wait.evidence?.links ?? linksTo(wait.blockers, parent, record.hasStatementSpan);
    Object.assign(attributes, wait.evidence?.attributes);
    observer?.recorded(parent, wait);
  }
  emitSegment({
    segment: 'lock_wait',
    resource: `${PREFIX_LOCK}${row.relation}`,
    parent,
    startMs,
    endMs,
    outcome: record.outcome,
    errorType: record.errorType,
    capacity: 1,
    inUse: record.inUse,
    queueDepth: record.queueDepth,
    holdMs: record.holdMs,
    isVisit: record.autocommit,
    attributes,
    links,
  });
}

/** One link per holder, the last first; the fourth stands for all that are left. */
function linksTo(blockers: readonly LockHold[], parent: Context, hasStatementSpan: boolean): Link[] {
  const own = trace.getSpanContext(parent);
  const links: Link[] = [];
  for (const blocker of blockers) {
    const target = trace.getSpanContext(blocker.parent);
    if (target === undefined) continue;
    // Within one trace the holder's span may be an ancestor of the wait, unless both are statements' spans.
    const related = target.traceId === own?.traceId && !(hasStatementSpan && blocker.hasStatementSpan);
    if (related || target.spanId === own?.spanId) continue;
    if (links.length === MAX_BLOCKED_BY_LINKS) {
      const attributes = links[MAX_BLOCKED_BY_LINKS - 1].attributes!;
      attributes[ATTR_LINK_SAMPLES] = (attributes[ATTR_LINK_SAMPLES] as number) + 1;
      continue;
    }
    links.push({ context: target, attributes: { [ATTR_LINK]: LINK_BLOCKED_BY, [ATTR_LINK_SAMPLES]: 1 } });
  }
  return links;
}
