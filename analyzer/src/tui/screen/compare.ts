import type { Context, Screenful } from '../context.ts';

/** Shown only with two inputs; the record of one change is what `waitfall compare` prints. */
export function compareScreen({ session, rows, frame, columns }: Context): Screenful {
  const lines = (session.comparison ?? []).map((text) => [[` ${text}`] as const]);
  const top = Math.max(0, Math.min(frame.selected, lines.length - rows));
  return {
    heading: [[' Compare']],
    lines:
      lines.length === 0
        ? [[[' Open two inputs with `waitfall compare BEFORE AFTER`.'.slice(0, columns)]]]
        : lines.slice(top, top + rows),
    list: { count: Math.max(1, lines.length - rows + 1), page: rows, top },
  };
}
