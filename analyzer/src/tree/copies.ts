import { borrowInt32, giveBack } from '../model/scratch.ts';
import { KIND } from '../model/span.ts';
import type { SpanTable } from '../model/span-table.ts';
import { compareCopyTexts, copyText, sameCopy } from './copy-text.ts';
import { compareEnds, compareStarts, hasBrokenTimes } from './epoch.ts';
import { inServerHalf } from './shared-pair.ts';
import { SpanIndex } from './span-index.ts';
import { STATE } from './types.ts';
import type { Work } from './work.ts';

/**
 * Rule 1, copies. Of the records with one trace and span id, identical copies are dropped and counted; of different
 * ones the whole record with the later end is kept (ties: earlier start, then smaller text), a valid one before an
 * invalid one, and each loser is counted as a conflict.
 *
 * One CLIENT and one SERVER with the same id are a shared pair (Zipkin) and both stay: copies compete within their
 * half only. A record of another kind belongs to the server half when it is marked `shared`, else to the client half.
 *
 * Also finds every parent by id: the server half of a pair hangs under its client half; children of a pair's id hang
 * under the half of their own service, else under the server half.
 */
export function dropCopies(work: Work): { duplicates: number; conflicts: number } {
  const { table, state, parent } = work;
  const index = new SpanIndex(table);
  /** Client half to server half, by the first row of their id. */
  const pairs = new Map<number, { client: number; server: number }>();
  /** By the first row of an id: the row kept. */
  const kept = borrowInt32(table.length).fill(-1);
  let duplicates = 0;
  let conflicts = 0;
  for (let row = 0; row < table.length; row++) {
    if (index.isRepeat(row)) continue;
    kept[row] = row;
    if (index.next(row) < 0) continue;
    const different = differentCopies(table, index, row);
    let copies = 0;
    for (let r = row; r >= 0; r = index.next(r)) {
      copies++;
      state[r] = STATE.dropped;
    }
    duplicates += copies - different.length;
    const halves = split(table, different);
    for (const half of halves) {
      conflicts += half.length - 1;
      state[best(table, half)] = STATE.inTree;
    }
    kept[row] = best(table, halves[0]);
    if (halves.length === 2) pairs.set(row, { client: kept[row], server: best(table, halves[1]) });
  }
  for (let row = 0; row < table.length; row++) {
    if (state[row] === STATE.dropped) continue;
    const own = pairs.size > 0 ? pairs.get(index.first(row)) : undefined;
    if (own?.server === row) {
      parent[row] = own.client;
      continue;
    }
    const first = index.firstOfParent(row);
    if (first < 0) continue;
    const pair = pairs.get(first);
    parent[row] = pair === undefined ? kept[first] : halfOf(table, row, pair);
  }
  giveBack(kept);
  index.giveBack();
  return { duplicates, conflicts };
}

/** @returns one row of each distinct content among the rows of one id, in input order. */
function differentCopies(table: SpanTable, index: SpanIndex, first: number): number[] {
  const different = [first];
  let texts: Set<string> | undefined;
  for (let row = index.next(first); row >= 0; row = index.next(row)) {
    if (sameCopy(table, first, row)) continue;
    texts ??= new Set();
    const text = copyText(table, row);
    if (texts.has(text)) continue;
    texts.add(text);
    different.push(row);
  }
  return different;
}

/** @returns the client and the server half where there is a pair, else all rows in one group. */
function split(table: SpanTable, rows: readonly number[]): number[][] {
  const kinds = new Set(rows.map((row) => table.kind[row]));
  if (!kinds.has(KIND.client) || !kinds.has(KIND.server)) return [[...rows]];
  return [rows.filter((row) => !inServerHalf(table, row)), rows.filter((row) => inServerHalf(table, row))];
}

function best(table: SpanTable, rows: readonly number[]): number {
  return rows.reduce((a, b) => (compareCopies(table, a, b) <= 0 ? a : b));
}

function compareCopies(table: SpanTable, a: number, b: number): number {
  if (a === b) return 0;
  const broken = Number(hasBrokenTimes(table, a)) - Number(hasBrokenTimes(table, b));
  if (broken !== 0) return broken;
  const byTime = compareEnds(table, b, a) || compareStarts(table, a, b);
  if (byTime !== 0) return byTime;
  return compareCopyTexts(table, a, b);
}

function halfOf(table: SpanTable, child: number, pair: { client: number; server: number }): number {
  const service = serviceOf(table, child);
  if (service === serviceOf(table, pair.server)) return pair.server;
  return service === serviceOf(table, pair.client) ? pair.client : pair.server;
}

function serviceOf(table: SpanTable, row: number): string {
  return table.resources[table.resource[row]].service;
}
