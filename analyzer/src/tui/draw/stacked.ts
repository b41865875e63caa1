import type { Color, Line, Part } from '../line.ts';
import { LETTERS, type Theme } from '../theme.ts';
import { apportion } from './bar.ts';

/** @returns a bar of `cells`, cut into whole cells by segment; letters stand for colours where there are none. */
export function stacked(
  parts: readonly { readonly color: Color; readonly value: number }[],
  cells: number,
  theme: Theme,
): Line {
  const shares = apportion(
    parts.map((part) => part.value),
    cells,
  );
  return parts.flatMap((part, index): Part[] => {
    if (shares[index] === 0) return [];
    if (!theme.depth) return [[LETTERS[part.color].repeat(shares[index])]];
    return [['█'.repeat(shares[index]), { fg: part.color }]];
  });
}
