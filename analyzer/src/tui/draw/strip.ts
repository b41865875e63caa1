import type { Color, Line, Part } from '../line.ts';
import { LETTERS, type Theme } from '../theme.ts';
import { cutEnd, width } from '../width.ts';
import { apportion } from './bar.ts';

export interface StripPart {
  readonly color: Color;
  readonly label: string;
  readonly value: number;
}

/**
 * One bar cut into labelled parts that add up to it, and a legend for the labels that did not fit inside.
 * Without colour the letter of each segment fills its part.
 */
export function strip(
  parts: readonly StripPart[],
  columns: number,
  theme: Theme,
): { bar: Line; legend: Line } {
  const cells = apportion(
    parts.map((part) => part.value),
    columns,
  );
  const bar: Part[] = [];
  const legend: Part[] = [];
  const hidden: StripPart[] = [];
  parts.forEach((part, index) => {
    const room = cells[index];
    const fits = width(part.label) + 2 <= room;
    if (!fits && part.value > 0) hidden.push(part);
    if (room === 0) return;
    if (theme.depth) {
      const text = fits ? `▏${part.label}` : '▏';
      bar.push([text + ' '.repeat(room - width(text)), { bg: part.color }]);
    } else {
      const fill = LETTERS[part.color];
      const text = fits ? `[${part.label} ` : '[';
      bar.push([cutEnd(text, room) + fill.repeat(Math.max(0, room - width(text)))]);
    }
  });
  let left = columns;
  let shown = 0;
  for (const part of hidden) {
    const mark = theme.depth ? '█' : LETTERS[part.color];
    const text = `${mark} ${part.label}  `;
    const more = hidden.length - shown > 1 ? 9 : 0;
    if (width(text) + more > left) break;
    legend.push([mark, { fg: part.color }], [` ${part.label}  `]);
    left -= width(text);
    shown++;
  }
  if (shown < hidden.length) legend.push([`+${hidden.length - shown} more`, { dim: true }]);
  return { bar, legend };
}
