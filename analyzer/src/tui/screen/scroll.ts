import type { Context, Screenful } from '../context.ts';
import { DIM, type Line, plain, SELECTED } from '../line.ts';

/** A long text in a screen: scrolled by the selection, its lines open to the search, which marks what it found. */
export function scrolled({ frame, state, rows }: Context, heading: Line, lines: readonly Line[]): Screenful {
  const top = Math.max(0, Math.min(frame.selected, lines.length - rows));
  const sought = state.search.toLowerCase();
  const mark = (line: Line): Line => {
    const text = plain(line);
    return sought !== '' && text.toLowerCase().includes(sought) ? [[text, SELECTED]] : line;
  };
  const shown = `${top + 1}–${Math.min(lines.length, top + rows)} of ${lines.length} lines `;
  return {
    heading,
    aside: [[lines.length > rows ? shown : '', DIM]],
    lines: lines.slice(top, top + rows).map(mark),
    list: { count: Math.max(1, lines.length - rows + 1), page: rows, top, texts: lines.map(plain) },
  };
}
