import type { SegmentName } from '../../classify/types.ts';
import type { Line, Part, Style } from '../line.ts';
import { LETTERS, type Theme } from '../theme.ts';

export interface WaterfallBar {
  readonly startNs: number;
  readonly endNs: number;
  readonly owned: readonly (readonly [startNs: number, endNs: number])[];
  readonly segment: SegmentName;
  readonly detached: boolean;
}

/**
 * One span's bar: full where the span owns the time, a thin line where it is open but a child owns it.
 * A cell is full when at least half of it is owned; an owned stretch is never shown as nothing.
 */
export function waterfallBar(bar: WaterfallBar, durationNs: number, cells: number, theme: Theme): Line {
  if (bar.detached) return [['detached', { dim: true }]];
  const scale = cells / (durationNs || 1);
  const first = Math.min(cells - 1, Math.floor(bar.startNs * scale));
  const last = Math.max(first, Math.min(cells - 1, Math.ceil(bar.endNs * scale) - 1));
  const filled = new Float64Array(cells);
  for (const [start, end] of bar.owned) {
    const from = Math.min(cells - 1, Math.floor(start * scale));
    const to = Math.min(cells - 1, Math.max(from, Math.ceil(end * scale) - 1));
    for (let cell = from; cell <= to; cell++) {
      const share = Math.min(end * scale, cell + 1) - Math.max(start * scale, cell);
      filled[cell] += Math.max(share, 1e-9);
    }
  }
  const parts: Part[] = [[' '.repeat(first)]];
  const owned: Style = { fg: bar.segment };
  for (let cell = first; cell <= last; cell++) {
    if (filled[cell] >= 0.5) parts.push([theme.depth ? '█' : LETTERS[bar.segment], owned]);
    else if (filled[cell] > 0) parts.push([theme.depth ? '▌' : LETTERS[bar.segment], owned]);
    else parts.push(['─', { dim: true }]);
  }
  return joined(parts);
}

/** Joins neighbours of equal style: fewer escape codes, the same picture. */
function joined(parts: readonly Part[]): Part[] {
  const out: [string, Style | undefined][] = [];
  for (const [text, style] of parts) {
    const last = out[out.length - 1];
    if (last && last[1]?.fg === style?.fg && last[1]?.dim === style?.dim) last[0] += text;
    else out.push([text, style]);
  }
  return out;
}
