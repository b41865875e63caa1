import { ATTR_SEGMENT, HOLD_SEGMENT } from '@waitfall/instrumentation/conventions';
import { AttributeReader } from '../model/attribute-reader.ts';
import { type HoldSpan, STATE } from './types.ts';
import type { Work } from './work.ts';

/**
 * Rule 4, holds. Spans with segment `hold` leave the tree; their children go to the hold's parent. A hold is never a
 * root: the children of one become roots of the same kind. Cycles are cut before, so lifting always ends.
 *
 * @returns the holds with the span each hangs under (-1: none in the input).
 */
export function liftHolds(work: Work): HoldSpan[] {
  const { table, state, parent } = work;
  const segment = new AttributeReader(table, ATTR_SEGMENT);
  const hold = table.strings.find(HOLD_SEGMENT);
  if (segment.isAbsent || hold < 0) return [];
  const rows: number[] = [];
  for (let row = 0; row < table.length; row++) {
    if (state[row] === STATE.inTree && segment.textId(row) === hold) rows.push(row);
  }
  if (rows.length === 0) return [];
  for (const row of rows) state[row] = STATE.hold;
  shortenHoldChains(work, rows);
  for (let row = 0; row < table.length; row++) {
    if (state[row] === STATE.inTree && parent[row] >= 0 && state[parent[row]] === STATE.hold) lift(work, row);
  }
  const holds: HoldSpan[] = [];
  for (const row of rows) {
    // A hold directly under a hold now hangs under that chain's topmost hold, which has no owner.
    if (parent[row] >= 0 && state[parent[row]] === STATE.hold) parent[row] = -1;
    holds.push({ row, owner: parent[row] });
  }
  for (const row of rows) work.rootKind[row] = 0;
  return holds;
}

/** Lets every hold point at its nearest ancestor that is no hold, or at the root hold above it. */
function shortenHoldChains(work: Work, rows: readonly number[]): void {
  const { state, parent } = work;
  const path: number[] = [];
  for (const row of rows) {
    let up = row;
    while (parent[up] >= 0 && state[up] === STATE.hold) {
      path.push(up);
      up = parent[up];
    }
    for (const hold of path) parent[hold] = up;
    path.length = 0;
  }
}

function lift(work: Work, row: number): void {
  const { state, parent, rootKind, missingFrom } = work;
  const hold = parent[row];
  const above = parent[hold];
  if (above >= 0 && state[above] !== STATE.hold) {
    parent[row] = above;
    return;
  }
  const root = above >= 0 ? above : hold;
  parent[row] = -1;
  rootKind[row] = rootKind[root];
  missingFrom.set(row, root);
}
