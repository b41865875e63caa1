import type { SegmentName } from '../classify/types.ts';
import { cutEnd, width } from './width.ts';

/** Colours by meaning; the theme turns them into escape codes. */
export type Color = SegmentName | 'abandoned' | 'bad' | 'warn' | 'ok';

export interface Style {
  readonly fg?: Color;
  readonly bg?: Color;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly underline?: boolean;
  /** Selection: reverse video on a name, never on a whole coloured row. */
  readonly selected?: boolean;
}

export type Part = readonly [text: string, style?: Style];

/** One row of the screen before it meets a theme: unit tests compare the text, theme tests the codes. */
export type Line = readonly Part[];

export const BOLD: Style = { bold: true };
export const DIM: Style = { dim: true };
export const SELECTED: Style = { selected: true };

/** @returns the plain text of a line. */
export function plain(line: Line): string {
  return line.map(([text]) => text).join('');
}

/** @returns cells the line takes. */
export function lineWidth(line: Line): number {
  let cells = 0;
  for (const [text] of line) cells += width(text);
  return cells;
}

/** @returns the line made exactly `columns` wide: the one place where a frame is protected from wrapping. */
export function fit(line: Line, columns: number): Line {
  const out: Part[] = [];
  let left = columns;
  for (const [text, style] of line) {
    const cells = width(text);
    if (cells <= left) {
      out.push([text, style]);
      left -= cells;
      continue;
    }
    const cut = cutEnd(text, left);
    out.push([cut, style]);
    left -= width(cut);
    break;
  }
  if (left > 0) out.push([' '.repeat(left)]);
  return out;
}

/** @returns one line with `left` at its start and `right` at its end; the right part goes when both do not fit. */
export function spread(left: Line, right: Line, columns: number): Line {
  const gap = columns - lineWidth(left) - lineWidth(right);
  return gap < 1 ? fit(left, columns) : [...left, [' '.repeat(gap)], ...right];
}

/** @returns lines of two blocks side by side, the left one `columns` wide. */
export function beside(left: readonly Line[], right: readonly Line[], columns: number, gap = 1): Line[] {
  const out: Line[] = [];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    out.push([...fit(left[i] ?? [], columns), [' '.repeat(gap)], ...(right[i] ?? [])]);
  }
  return out;
}
