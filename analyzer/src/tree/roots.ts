import { borrowInt32, giveBack } from '../model/scratch.ts';
import { FLAG, type SpanTable } from '../model/span-table.ts';
import { compareStarts } from './epoch.ts';
import { compareIds } from './shared-pair.ts';
import { STATE } from './types.ts';
import { ROOT, type Work } from './work.ts';

/**
 * Rule 3, roots. No parent in the record: true root; parent not in the input: orphan root; a cycle is cut at its
 * member with the earliest start (ties: smaller id), which becomes a root. @returns the number of cycles.
 */
export function findRoots(work: Work): number {
  const { table, state, parent, rootKind } = work;
  for (let row = 0; row < table.length; row++) {
    if (state[row] !== STATE.inTree || parent[row] >= 0) continue;
    rootKind[row] = table.flags[row] & FLAG.noParent ? ROOT.true : ROOT.orphan;
  }
  return cutCycles(work);
}

function cutCycles(work: Work): number {
  const { table, state, parent, rootKind } = work;
  /** The walk in which a row was first met; 0: not yet. */
  const walkOf = borrowInt32(table.length);
  let walk = 0;
  let cycles = 0;
  for (let from = 0; from < table.length; from++) {
    if (state[from] !== STATE.inTree || walkOf[from] !== 0) continue;
    walk++;
    let row = from;
    while (row >= 0 && walkOf[row] === 0) {
      walkOf[row] = walk;
      row = parent[row];
    }
    if (row < 0 || walkOf[row] !== walk) continue;
    const root = earliestOfCycle(table, parent, row);
    parent[root] = -1;
    rootKind[root] = ROOT.cycle;
    cycles++;
  }
  giveBack(walkOf);
  return cycles;
}

function earliestOfCycle(table: SpanTable, parent: Int32Array, member: number): number {
  let earliest = member;
  for (let row = parent[member]; row !== member; row = parent[row]) {
    const order = compareStarts(table, row, earliest) || compareIds(table, row, earliest);
    if (order < 0) earliest = row;
  }
  return earliest;
}
