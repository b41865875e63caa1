import { width } from '../width.ts';

/** @returns the text broken at spaces into lines of at most `columns` cells; a longer word stands alone, uncut. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const next = line === '' ? word : `${line} ${word}`;
    if (line !== '' && width(next) > columns) {
      lines.push(line);
      line = word;
    } else {
      line = next;
    }
  }
  if (line !== '') lines.push(line);
  return lines;
}

/** @returns the longest of the versions that fits, longest first; the last one when none does. */
export function choose(versions: readonly string[], columns: number): string {
  return versions.find((text) => width(text) <= columns) ?? versions[versions.length - 1];
}

/** @returns as many of the items, in order, as fit on one line; an item that does not fit is passed over. */
export function pack(
  items: readonly string[],
  separator: string,
  columns: number,
): { readonly text: string; readonly shown: number } {
  let text = '';
  let shown = 0;
  for (const item of items) {
    const next = text === '' ? item : `${text}${separator}${item}`;
    if (width(next) > columns) continue;
    text = next;
    shown++;
  }
  return { text, shown };
}
