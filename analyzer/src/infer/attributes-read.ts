import {
  ATTR_BLOCKER_STATEMENT,
  ATTR_CPU_FUNCTIONS,
  ATTR_EVENTLOOP_UTILIZATION,
  ATTR_HOLD_DURATION_NS,
  ATTR_LOCK_KEY,
  ATTR_OUTCOME,
  ATTR_RESOURCE,
  ATTR_RESOURCE_CAPACITY,
  ATTR_RESOURCE_IN_USE,
  ATTR_RESOURCE_QUEUE_DEPTH,
  ATTR_SEGMENT,
  timeAttribute,
} from '@waitfall/instrumentation/conventions';
import { ATTR_TAIL_POLICY } from '../aggregate/weights.ts';
import { PEER_ATTRIBUTES } from '../classify/known-names.ts';
import type { Rules } from '../classify/rules.ts';

/**
 * Every span attribute the analysis and the report look at, in whatever file: an input of which nothing else is wanted is
 * read without the others (a table refuses to answer for them).
 */
const ALWAYS = [
  ATTR_BLOCKER_STATEMENT,
  ATTR_CPU_FUNCTIONS,
  ATTR_EVENTLOOP_UTILIZATION,
  ATTR_HOLD_DURATION_NS,
  ATTR_LOCK_KEY,
  ATTR_OUTCOME,
  ATTR_RESOURCE,
  ATTR_RESOURCE_CAPACITY,
  ATTR_RESOURCE_IN_USE,
  ATTR_RESOURCE_QUEUE_DEPTH,
  ATTR_SEGMENT,
  ATTR_TAIL_POLICY,
  timeAttribute('work'),
  ...PEER_ATTRIBUTES,
  'db.collection.name',
  'db.operation',
  'db.operation.name',
  'db.postgresql.max.client',
  'db.query.text',
  'db.sql.table',
  'db.statement',
  'db.system',
  'db.system.name',
  'error.type',
  'http.method',
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'http.status_code',
] as const;

/** @returns the keys of all span attributes an analysis needs, with those of the user's rules and of `--by`. */
export function attributesRead(rules: Rules | undefined, by: string | undefined): ReadonlySet<string> {
  return new Set([...ALWAYS, ...(rules?.attributes ?? []), ...(by === undefined ? [] : [by])]);
}
