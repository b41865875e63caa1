import type { Line, Style } from '../line.ts';
import { cutEnd, padEnd, width } from '../width.ts';

/** @returns a bordered block `columns` wide; a heavy border marks the queue that fills first. */
export function box(
  title: string,
  body: readonly string[],
  columns: number,
  heavy: boolean,
  style?: Style,
): Line[] {
  const [h, v, a, b, c, d] = heavy ? ['━', '┃', '┏', '┓', '┗', '┛'] : ['─', '│', '┌', '┐', '└', '┘'];
  const name = cutEnd(title, columns - 5);
  const border: Style | undefined = heavy ? { ...style, bold: true } : style;
  const top = `${a}${h} ${name} ${h.repeat(Math.max(0, columns - 5 - width(name)))}${b}`;
  return [
    [[top, border]],
    ...body.map((text): Line => [[v, border], [` ${padEnd(text, columns - 4)} `], [v, border]]),
    [[`${c}${h.repeat(columns - 2)}${d}`, border]],
  ];
}
