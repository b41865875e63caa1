import { repairs } from '../../report/sections/repairs.ts';
import { bytes, count, percent } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { wrap } from '../draw/text.ts';
import { BOLD, DIM, type Line } from '../line.ts';
import { counted, coverageAdvice, readText, reconcile } from '../model/input.ts';
import { clean } from '../width.ts';
import { scrolled } from './scroll.ts';

/** What was read, repaired and refused, and why these numbers may differ from another tool's. */
export function inputScreen(context: Context): Screenful {
  const { session, columns } = context;
  const { input, requests } = session.report;
  const lines: Line[] = [];
  const head = (text: string): void => {
    lines.push([['']], [[` ${text}`, BOLD]]);
  };
  const say = (text: string, dim = false): void => {
    for (const part of wrap(text, columns - 4)) lines.push([[`   ${part}`, dim ? DIM : undefined]]);
  };
  head(`${count(input.files.length)} ${input.files.length === 1 ? 'file' : 'files'}`);
  for (const file of input.files)
    say(
      `${clean(file.path)}: ${clean(file.format)}, ${bytes(file.bytes)}, ${counted(file.spans, 'span')}${file.rejected > 0 ? `, ${count(file.rejected)} rejected` : ''}`,
    );
  head('Read');
  say(readText(input));
  head('Repaired');
  const fixed = repairs(input);
  if (fixed.length === 0) say('nothing had to be repaired', true);
  for (const text of fixed) say(clean(text));
  head('Rejected');
  if (input.rejected.length === 0) say('nothing was rejected', true);
  for (const item of input.rejected.slice(0, 200)) {
    const where =
      item.line !== undefined
        ? `:${item.line}`
        : item.record !== undefined
          ? ` record ${item.record}`
          : item.offset !== undefined
            ? ` byte ${item.offset}`
            : '';
    say(`${clean(item.file)}${where}: ${clean(item.reason)}`);
  }
  if (input.rejected.length > 200)
    say(`and ${count(input.rejected.length - 200)} more, all in the JSON report (o)`, true);
  head('Coverage');
  say(
    `${percent(requests.coverage)} of the requests' time is accounted for; ${percent(requests.parallelShare)} ran in parallel, where the choice of owner is a rule and not a measurement`,
  );
  for (const text of coverageAdvice(session)) say(text);
  head('Why another tool may show other numbers');
  for (const text of reconcile(session)) say(text);
  return scrolled(context, [[' Input']], lines);
}
