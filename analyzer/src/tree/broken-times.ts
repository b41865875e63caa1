import { hasBrokenTimes } from './epoch.ts';
import { STATE } from './types.ts';
import type { Work } from './work.ts';

const UNKNOWN = -2;
const NOBODY = -1;

/**
 * Rule 2, broken times. Spans for which {@link hasBrokenTimes} says so are quarantined: they own no time. Their
 * children go to the nearest sound ancestor; where there is none in the input (parent absent, missing, or only
 * broken spans in a circle) the children go with them, and all that hangs below.
 */
export function quarantineBroken(work: Work): { quarantined: number; quarantinedSubtree: number } {
  const { table, state, parent } = work;
  let quarantined = 0;
  for (let row = 0; row < table.length; row++) {
    if (state[row] !== STATE.inTree || !hasBrokenTimes(table, row)) continue;
    state[row] = STATE.quarantined;
    quarantined++;
  }
  if (quarantined === 0) return { quarantined, quarantinedSubtree: 0 };
  const taken = handChildrenUp(work);
  const quarantinedSubtree = takeSubtrees(work, taken);
  for (let row = 0; row < table.length; row++) if (state[row] === STATE.quarantined) parent[row] = -1;
  return { quarantined, quarantinedSubtree };
}

/** Gives the children of broken spans to the nearest sound ancestor. @returns 1 for rows that found none. */
function handChildrenUp(work: Work): Uint8Array {
  const { state, parent, table } = work;
  const isBroken = (row: number): boolean => state[row] === STATE.quarantined;
  const sound = new Int32Array(table.length).fill(UNKNOWN);
  const taken = new Uint8Array(table.length);
  const path: number[] = [];
  for (let row = 0; row < table.length; row++) {
    if (state[row] !== STATE.inTree || parent[row] < 0 || !isBroken(parent[row])) continue;
    let up = parent[row];
    while (up >= 0 && isBroken(up) && sound[up] === UNKNOWN) {
      // A broken span met again on its own way up is a circle: nobody sound above.
      sound[up] = NOBODY;
      path.push(up);
      up = parent[up];
    }
    const found = up >= 0 && isBroken(up) ? sound[up] : up;
    for (const broken of path) sound[broken] = found;
    path.length = 0;
    if (found === NOBODY) taken[row] = 1;
    else parent[row] = found;
  }
  return taken;
}

/** Quarantines the taken rows and every sound row below them. @returns how many. */
function takeSubtrees(work: Work, taken: Uint8Array): number {
  const { state, parent, table } = work;
  const OPEN = 2;
  const FREE = 3;
  const path: number[] = [];
  for (let row = 0; row < table.length; row++) {
    if (state[row] !== STATE.inTree) continue;
    let up = row;
    while (up >= 0 && taken[up] === 0) {
      taken[up] = OPEN;
      path.push(up);
      up = parent[up];
    }
    const fate = up >= 0 && taken[up] === 1 ? 1 : FREE;
    for (const seen of path) taken[seen] = fate;
    path.length = 0;
  }
  let count = 0;
  for (let row = 0; row < table.length; row++) {
    if (state[row] !== STATE.inTree || taken[row] !== 1) continue;
    state[row] = STATE.quarantined;
    count++;
  }
  return count;
}
