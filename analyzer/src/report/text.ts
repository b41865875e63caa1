import type { Column, Document, Table } from './document.ts';
import { clean, cutMiddle, padEnd, padStart, width } from './width.ts';

export interface TextStyle {
  /** Cells a line may take. */
  readonly columns: number;
  readonly ascii: boolean;
  readonly color: boolean;
}

export const PLAIN: TextStyle = { columns: 80, ascii: false, color: false };

/** Renders a document for a terminal or a file: fixed width, nothing of the input reaches the terminal raw. */
export function renderText(document: Document, style: TextStyle = PLAIN): string {
  const lines: string[] = [];
  for (const { title, blocks } of document.sections) {
    if (lines.length > 0) lines.push('');
    if (title !== '') lines.push(bold(cutMiddle(safe(title, style), style.columns), style));
    for (const block of blocks) {
      switch (block.type) {
        case 'line':
          lines.push(bold(safe(block.text, style), style));
          break;
        case 'paragraph':
          lines.push(...wrap(safe(block.text, style), style.columns, title === '' ? '' : INDENT, ''));
          break;
        case 'list':
          for (const item of block.items) {
            lines.push(...wrap(safe(item, style), style.columns, `${INDENT}- `, `${INDENT}  `, true));
          }
          break;
        case 'table':
          lines.push(...table(block, style));
      }
    }
  }
  const text = `${lines.join('\n')}\n`;
  // Cutting and padding put an ellipsis after the text was made safe.
  return style.ascii ? text.replaceAll('…', ASCII['…']) : text;
}

const INDENT = '  ';
/** A name keeps at least this much of itself before numeric columns are left out for it. */
const NAME_CELLS = 34;
const GAP = 2;

function table(block: Table, style: TextStyle): string[] {
  const cells = block.rows.map((row) => row.map((cell) => safe(cell, style)));
  const titles = block.columns.map((column) => safe(column.title, style));
  const natural = block.columns.map((_, c) => {
    const widest = cells.reduce((most, row) => Math.max(most, width(row[c])), 0);
    // A column without content is not shown; tables without rows keep their titles.
    return widest === 0 && cells.length > 0 ? 0 : Math.max(width(titles[c]), widest);
  });
  const room = style.columns - INDENT.length;
  const { shown, widths } = fitColumns(block.columns, natural, room);
  const draw = (row: readonly string[]) =>
    INDENT +
    shown
      .map((c) => (block.columns[c].align === 'left' ? padEnd : padStart)(row[c], widths[c]))
      .join(' '.repeat(GAP))
      .trimEnd();
  const lines = [dim(draw(titles), style), ...cells.map(draw)];
  const notes = (block.notes ?? []).flatMap((note) => wrap(safe(note, style), style.columns, INDENT, INDENT));
  return [...lines, ...notes];
}

/** Drops spare columns, then narrows the widest name column, until the table fits. */
function fitColumns(
  columns: readonly Column[],
  natural: readonly number[],
  room: number,
): { shown: number[]; widths: number[] } {
  const widths = [...natural];
  let shown = columns.map((_, c) => c).filter((c) => natural[c] > 0);
  const names = shown.filter((c) => columns[c].align === 'left');
  const least = (c: number) =>
    names.includes(c) ? Math.min(natural[c], columns[c].least ?? NAME_CELLS) : natural[c];
  const total = (of: (c: number) => number) =>
    shown.reduce((sum, c) => sum + of(c), 0) + GAP * (shown.length - 1);
  while (total(least) > room) {
    const spare = shown.filter((c) => (columns[c].spare ?? 0) > 0);
    if (spare.length === 0) break;
    const most = Math.max(...spare.map((c) => columns[c].spare ?? 0));
    shown = shown.filter((c) => c !== spare.findLast((s) => columns[s].spare === most));
  }
  for (let over = total((c) => widths[c]) - room; over > 0; over--) {
    const shrinkable = shown.filter((c) => names.includes(c) && widths[c] > MIN_NAME_CELLS);
    if (shrinkable.length === 0) break;
    const widest = shrinkable.reduce((a, b) => (widths[b] > widths[a] ? b : a));
    widths[widest]--;
  }
  return { shown, widths };
}

const MIN_NAME_CELLS = 8;

/** Breaks at spaces; a word wider than the line stands on a line of its own, cut in its middle. */
function wrap(text: string, columns: number, first: string, rest: string, hanging = false): string[] {
  const lines: string[] = [];
  let prefix = first;
  let line = '';
  for (const word of text.split(' ')) {
    if (word === '') continue;
    const next = line === '' ? word : `${line} ${word}`;
    if (width(prefix) + width(next) <= columns || line === '') {
      line = next;
      continue;
    }
    lines.push(prefix + line);
    prefix = hanging ? rest : first;
    line = word;
  }
  lines.push(prefix + line);
  return lines.map((each) => (width(each) > columns ? padEnd(each, columns).trimEnd() : each));
}

/** Signs we draw ourselves and what stands for them in ASCII. */
const ASCII: Readonly<Record<string, string>> = {
  '–': '-',
  '—': '-',
  '·': '.',
  '…': '~',
  '→': '->',
  '←': '<-',
  '×': 'x',
  '≥': '>=',
  '≤': '<=',
  '±': '+-',
  '█': '#',
  '▉': '#',
  '▊': '#',
  '▋': '#',
  '▌': '#',
  '▍': '#',
  '▎': '|',
  '▏': '|',
  '░': '.',
  '─': '-',
  '›': '>',
  '│': '|',
  '┌': '+',
  '└': '`',
  '├': '|',
  µ: 'u',
};

/** @returns text that is safe to print: no control character, no bidirectional override; ASCII only when asked. */
export function safe(text: string, style: Pick<TextStyle, 'ascii'>): string {
  const cleaned = clean(text);
  if (!style.ascii) return cleaned;
  return cleaned.replace(/[^\u0020-\u007e]/gu, (sign) => ASCII[sign] ?? '?');
}

function bold(text: string, style: TextStyle): string {
  return style.color && text !== '' ? `\u001b[1m${text}\u001b[22m` : text;
}

function dim(text: string, style: TextStyle): string {
  return style.color && text !== '' ? `\u001b[2m${text}\u001b[22m` : text;
}
