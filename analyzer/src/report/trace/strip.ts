import { SEGMENTS, type Segment } from '@waitfall/instrumentation/conventions';
import type { Piece } from '../../partition/types.ts';

const LETTER_OF: Readonly<Record<Segment, string>> = {
  admission_wait: 'A',
  eventloop_wait: 'E',
  threadpool_wait: 'T',
  pool_wait: 'P',
  connection_wait: 'C',
  lock_wait: 'L',
  runtime_pause: 'R',
  generator_wait: 'G',
  work: 'w',
  downstream: 'd',
  network: 'n',
  messaging: 'm',
  unaccounted: '.',
};

/** One letter a segment, by index into SEGMENTS: upper case for waits. */
export const LETTERS: readonly string[] = SEGMENTS.map((segment) => LETTER_OF[segment]);

/**
 * A partition as one line: each cell shows the segment that owns most of its time (ties: the earlier in the
 * conventions).
 *
 * @param pieces stretches in time order that cover [0, durationNs).
 */
export function strip(
  pieces: readonly Piece[],
  segmentOf: (row: number) => number,
  durationNs: number,
  cells: number,
): string {
  if (durationNs === 0) return '';
  let out = '';
  let p = 0;
  const owned = new Float64Array(SEGMENTS.length);
  for (let c = 0; c < cells; c++) {
    const from = (durationNs * c) / cells;
    const to = (durationNs * (c + 1)) / cells;
    owned.fill(0);
    while (p < pieces.length && pieces[p].end <= from) p++;
    for (let i = p; i < pieces.length && pieces[i].start < to; i++) {
      owned[segmentOf(pieces[i].row)] += Math.min(pieces[i].end, to) - Math.max(pieces[i].start, from);
    }
    out += LETTERS[owned.indexOf(Math.max(...owned))];
  }
  return out;
}
