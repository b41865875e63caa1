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
