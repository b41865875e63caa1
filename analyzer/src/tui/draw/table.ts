import type { Line, Part, Style } from '../line.ts';
import { DIM } from '../line.ts';
import { padEnd, padStart } from '../width.ts';

export interface Column {
  readonly title: string;
  /** Cells; the flexible column takes what is left and at least this. */
  readonly cells: number;
  readonly align?: 'left' | 'right';
  readonly flexible?: boolean;
  /** A flexible column grows up to this: on a wide screen a number must not stand far from its name. */
  readonly most?: number;
  /** Columns of a higher number go first when the screen is narrow; 0 (default) always stays. */
  readonly priority?: number;
}

export type Cell = string | Part | Line;

export interface TableRow {
  /** One cell a column, in the order of the columns. */
  readonly cells: readonly Cell[];
  readonly selected?: boolean;
  readonly style?: Style;
}

/** Chooses the columns that fit and their widths. @returns indexes into `columns` with cells each. */
export function layout(columns: readonly Column[], total: number): { index: number; cells: number }[] {
  let chosen = columns.map((column, index) => ({ column, index }));
  const need = (): number => chosen.reduce((sum, { column }) => sum + column.cells + 1, 1);
  while (need() > total) {
    const worst = Math.max(...chosen.map(({ column }) => column.priority ?? 0));
    if (worst === 0) break;
    const at = chosen.findLastIndex(({ column }) => (column.priority ?? 0) === worst);
    chosen = chosen.filter((_, index) => index !== at);
  }
  const spare = Math.max(0, total - need());
  const flexible = chosen.filter(({ column }) => column.flexible).length;
  let given = 0;
  let seen = 0;
  return chosen.map(({ column, index }) => {
    if (!column.flexible) return { index, cells: column.cells };
    seen++;
    const extra = seen === flexible ? spare - given : Math.floor(spare / flexible);
    given += extra;
    return { index, cells: Math.min(column.most ?? Number.POSITIVE_INFINITY, column.cells + extra) };
  });
}

/** @returns the header line and one line a row; the cursor mark stands in the first cell of the selected row. */
export function table(columns: readonly Column[], rows: readonly TableRow[], total: number): Line[] {
  const fields = layout(columns, total);
  const header: Part[] = [[' ']];
  for (const { index, cells } of fields) {
    const { title, align } = columns[index];
    header.push([`${align === 'right' ? padStart(title, cells) : padEnd(title, cells)} `, DIM]);
  }
  const lines: Line[] = [header];
  for (const row of rows) {
    const line: Part[] = [[row.selected ? '▸' : ' ']];
    fields.forEach(({ index, cells }, position) => {
      const cell = row.cells[index] ?? '';
      if (Array.isArray(cell) && (cell.length === 0 || Array.isArray(cell[0]))) {
        line.push(...(cell as Line), [' ']);
        return;
      }
      const [text, style] = typeof cell === 'string' ? ([cell, undefined] as const) : (cell as Part);
      const shown = columns[index].align === 'right' ? padStart(text, cells) : padEnd(text, cells);
      // The selection marks the name alone: reverse video over a coloured row would hide the colours.
      const marked = row.selected && position === 0 ? { ...style, selected: true } : (style ?? row.style);
      line.push([shown, marked], [' ']);
    });
    lines.push(line);
  }
  return lines;
}

/**
 * @returns which row of a long list to show first so that `selected` stays in sight, with `around` rows before and
 * after it where there are any.
 */
export function windowOf(selected: number, top: number, height: number, count: number, around = 0): number {
  let first = Math.min(top, Math.max(0, count - height));
  const margin = Math.max(0, Math.min(around, Math.floor((height - 1) / 2)));
  first = Math.min(first, selected - margin);
  first = Math.max(first, selected + margin - height + 1);
  return Math.max(0, Math.min(first, count - height));
}
