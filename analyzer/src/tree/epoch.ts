import { FLAG, type SpanTable } from '../model/span-table.ts';

const NS = 1_000_000_000;
const NS_BIG = 1_000_000_000n;
/** Below this many seconds apart a difference in ns is exact in a double (2^53 ns are 9,007,199 s). */
const EXACT_SECONDS = 9_000_000;
const YEAR_2000_SECONDS = 946_684_800;

/** Largest difference a column of relative times can hold exactly, ns: 104 days. */
export const MAX_NS = Number.MAX_SAFE_INTEGER;

/** @returns a - b in ns, a and b as epoch seconds and ns; exact up to 2^53 ns, rounded beyond. */
export function difference(aSec: number, aNs: number, bSec: number, bNs: number): number {
  const seconds = aSec - bSec;
  if (seconds < EXACT_SECONDS && seconds > -EXACT_SECONDS) return seconds * NS + (aNs - bNs);
  return Number(BigInt(seconds) * NS_BIG + BigInt(aNs - bNs));
}

/** @returns end - start of a row, ns. */
export function durationNs(table: SpanTable, row: number): number {
  return difference(table.endSec[row], table.endNs[row], table.startSec[row], table.startNs[row]);
}

/**
 * Rule 2's "broken": no start or no end, end before start, or start 0 with an end after the year 2000.
 * A span that lasts 2^53 ns (104 days) or more counts as broken too: no clock of a request measured that.
 */
export function hasBrokenTimes(table: SpanTable, row: number): boolean {
  if (table.flags[row] & (FLAG.noStart | FLAG.noEnd)) return true;
  if (table.startSec[row] === 0 && table.startNs[row] === 0 && table.endSec[row] >= YEAR_2000_SECONDS) {
    return true;
  }
  const duration = durationNs(table, row);
  return duration < 0 || duration > MAX_NS;
}

/** Orders rows by recorded start. */
export function compareStarts(table: SpanTable, a: number, b: number): number {
  return table.startSec[a] - table.startSec[b] || table.startNs[a] - table.startNs[b];
}

/** Orders rows by recorded end. */
export function compareEnds(table: SpanTable, a: number, b: number): number {
  return table.endSec[a] - table.endSec[b] || table.endNs[a] - table.endNs[b];
}
