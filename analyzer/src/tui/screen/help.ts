import type { Context, Screenful } from '../context.ts';
import { wrap } from '../draw/text.ts';
import { GLOSSARY } from '../glossary.ts';
import { BINDINGS, labelIn, worksIn } from '../keys.ts';
import { BOLD, DIM, type Line } from '../line.ts';
import { padEnd } from '../width.ts';
import { scrolled } from './scroll.ts';

/** Keys of the view below, then of all views, then what every word on the screens means. */
export function helpScreen(context: Context): Screenful {
  const { columns, state } = context;
  const under = state.stack.at(-2)?.view ?? 'verdict';
  const lines: Line[] = [];
  lines.push([
    [' Keys', BOLD],
    [`  here (${under}) first`, DIM],
  ]);
  const here = BINDINGS.filter((binding) => binding.views !== undefined && worksIn(binding, under));
  const everywhere = BINDINGS.filter((binding) => binding.views === undefined);
  lines.push([[`   ${padEnd('1–7', 8)}`], ['open a view']]);
  for (const binding of [...here, ...everywhere])
    lines.push([[`   ${padEnd(binding.shown, 8)}`], [labelIn(binding, under)]]);
  for (const { title, entries } of GLOSSARY) {
    lines.push([['']], [[` ${title}`, BOLD]]);
    for (const [term, meaning] of entries) {
      const parts = wrap(meaning, columns - 24);
      parts.forEach((part, index) => {
        lines.push([[`   ${padEnd(index === 0 ? term : '', 18)} `], [part, index === 0 ? undefined : DIM]]);
      });
    }
  }
  return scrolled(context, [[' Help']], lines);
}
