import { PREFIX_HTTP_AGENT, PREFIX_LOCK, SEGMENTS } from '@waitfall/instrumentation/conventions';
import { isWait } from '../classify/classify.ts';
import type { Queue } from './activity.ts';
import type { Label } from './host-pieces.ts';
import type { Statement } from './statement.ts';

export interface Content {
  readonly what: string;
  readonly movable: boolean;
}

/** @returns what a piece of a hold is called: waits by queue, statements by verb and relation, calls by span name. */
export function contentOf(holder: Queue, { segment, call }: Label, waitedFor: Queue | null): Content {
  if (isWait(segment))
    return { what: `${SEGMENTS[segment]} ${waitedFor?.name ?? ''}`.trim(), movable: false };
  if (call === null) return { what: SEGMENTS[segment], movable: false };
  const { statement, name, isClient } = call;
  const said = statement === null ? '' : `${statement.verb} ${statement.relation}`.trim();
  const what = statement?.relation || statement?.verb ? said : name;
  return { what, movable: isClient && isMovable(holder, statement) };
}

/**
 * Whether a call inside a hold does without the resource: a statement on another relation than the locked one, or, in a
 * row lock or on a pooled database connection, a call to something that is no database.
 */
function isMovable(queue: Queue, statement: Statement | null): boolean {
  if (queue.kind === 'lock') {
    if (statement === null) return true;
    const locked = queue.name.slice(PREFIX_LOCK.length);
    return statement.relation !== '' && bare(statement.relation) !== bare(locked);
  }
  return queue.kind === 'pool' && !queue.name.startsWith(PREFIX_HTTP_AGENT) && statement === null;
}

/** Without a schema in front. */
function bare(relation: string): string {
  return relation.slice(relation.lastIndexOf('.') + 1).toLowerCase();
}
