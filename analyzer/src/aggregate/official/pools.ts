import { KIND } from '../../model/span.ts';
import { attribute } from '../../model/span-table.ts';
import type { Forest } from '../../tree/types.ts';
import { ACQUIRED, type Activity, type Wait } from '../activity.ts';
import type { Requests } from '../requests-types.ts';
import { sortByRequest } from '../sort-records.ts';
import { type Statement, StatementReader } from '../statement.ts';
import { type EachPart, holdsRow, type TreePart } from '../tree-parts.ts';
import { inferCapacity } from './pool-capacity.ts';

/** A connection in use, as its statements show it. */
export interface RebuiltHold {
  readonly wait: Wait;
  /** Statements sent over it, in order. */
  readonly statements: readonly { readonly row: number; readonly statement: Statement }[];
}

/** JS clocks floor starts to whole ms: a statement may seem to start before its connection was there. */
const CLOCK_NS = 2e6;

/**
 * Holds of pools that state only waits: a connection is held from the end of its wait to the end of its last statement.
 * Its statements are the database calls under the same parent after it, up to COMMIT or ROLLBACK where it began with
 * BEGIN, else up to the next acquisition from the same pool.
 */
export function rebuildPoolHolds(eachPart: EachPart, requests: Requests, activity: Activity): RebuiltHold[] {
  const held = new Set<number>();
  for (let i = 0; i < activity.holds.length; i++) held.add(activity.holds.queue[i]);
  const wanted = new Set(
    activity.queues.filter((q) => q.kind === 'pool' && !held.has(q.index)).map((q) => q.index),
  );
  if (wanted.size === 0) return [];
  const { waits, holds } = activity;
  const before = holds.length;
  const rebuilt: RebuiltHold[] = [];
  eachPart((part) => {
    const statementsAfter = statementReader(part);
    for (let i = 0; i < waits.length; i++) {
      if (!wanted.has(waits.queue[i]) || waits.outcome[i] !== ACQUIRED || !holdsRow(part, waits.row[i]))
        continue;
      const wait = waits.at(i);
      const queue = activity.queues[wait.queue];
      queue.holdsRebuilt = true;
      const { acquire, parent, statements } = statementsAfter(wait.row - part.firstRow);
      if (statements.length === 0) continue;
      const { forest, firstRow } = part;
      const originNs = requests.startNs[wait.request];
      holds.push({
        queue: wait.queue,
        instance: wait.instance,
        request: wait.request,
        row: wait.row,
        host: firstRow + parent,
        startNs: wait.endNs,
        endNs: Math.max(wait.endNs, originNs + forest.end[statements[statements.length - 1].row]),
        key: null,
      });
      const max = attribute(forest.table, acquire, 'db.postgresql.max.client');
      if (typeof max === 'number' && max > 0) queue.statedCapacity[wait.instance] = max;
      rebuilt.push({ wait, statements });
    }
  });
  sortByRequest(holds, before);
  for (const queue of activity.queues) {
    if (wanted.has(queue.index) && queue.holdsRebuilt) inferCapacity(activity, requests, queue.index);
  }
  return rebuilt;
}

/** What one acquisition was for: the statements sent over the connection. */
interface Use {
  /** The span that acquired it: where our wait sits inside another's acquire span, statements hang beside that one. */
  readonly acquire: number;
  readonly parent: number;
  readonly statements: { readonly row: number; readonly statement: Statement }[];
}

/** @returns what tells the use of a connection from the row of the wait for it, all rows being those of the part. */
function statementReader({ forest }: TreePart): (row: number) => Use {
  const reader = new StatementReader(forest.table);
  const siblings = siblingsOf(forest);
  return (waitRow) => {
    const acquire = acquireSpan(forest, waitRow);
    const readyNs = forest.end[acquire];
    const statements: { row: number; statement: Statement }[] = [];
    let inTransaction = false;
    for (const row of siblings(forest.parent[acquire])) {
      if (row === acquire || forest.start[row] < readyNs - CLOCK_NS) continue;
      if (isAcquire(forest, row, acquire)) {
        if (statements.length > 0) break;
        continue;
      }
      if (forest.table.kind[row] !== KIND.client || !sameDatabase(forest, row, acquire)) continue;
      const statement = reader.of(row);
      if (statement === null || statement.verb === '') continue;
      statements.push({ row, statement });
      if (statement.verb === 'BEGIN' || statement.verb === 'START TRANSACTION') inTransaction = true;
      if (inTransaction && (statement.verb === 'COMMIT' || statement.verb === 'ROLLBACK')) break;
    }
    return { acquire, parent: forest.parent[acquire], statements };
  };
}

/** Rows by parent, in order of start; roots are nobody's siblings. */
export function siblingsOf(forest: Forest): (parent: number) => readonly number[] {
  const byParent = new Map<number, number[]>();
  for (const row of forest.order) {
    if (forest.parent[row] < 0) continue;
    const list = byParent.get(forest.parent[row]);
    if (list) list.push(row);
    else byParent.set(forest.parent[row], [row]);
  }
  const sorted = new Set<number>();
  return (parent) => {
    const list = byParent.get(parent);
    if (!list) return [];
    if (!sorted.has(parent)) {
      sorted.add(parent);
      list.sort((a, b) => forest.start[a] - forest.start[b] || forest.end[a] - forest.end[b]);
    }
    return list;
  };
}

function acquireSpan(forest: Forest, row: number): number {
  const parent = forest.parent[row];
  if (parent < 0) return row;
  const name = forest.table.strings.text(forest.table.name[parent]);
  return /pool\.(connect|acquire)$/.test(name) ? parent : row;
}

function isAcquire(forest: Forest, row: number, acquire: number): boolean {
  return (
    forest.table.name[row] === forest.table.name[acquire] &&
    forest.table.kind[row] === forest.table.kind[acquire] &&
    sameDatabase(forest, row, acquire)
  );
}

function sameDatabase(forest: Forest, a: number, b: number): boolean {
  const { table } = forest;
  for (const key of ['db.namespace', 'db.name', 'server.address']) {
    const x = attribute(table, a, key);
    const y = attribute(table, b, key);
    if (x !== undefined && y !== undefined) return x === y;
  }
  return true;
}
