import type { WindowRow } from '../../aggregate/types.ts';
import type { Document } from '../../report/document.ts';
import { renderText } from '../../report/text.ts';
import { duration, rate } from '../../report/units.ts';
import type { Context, Screenful } from '../context.ts';
import { strip } from '../draw/strip.ts';
import { wrap } from '../draw/text.ts';
import { BOLD, DIM, type Line } from '../line.ts';
import { commonSteps, comparedFacts } from '../model/compare.ts';
import { bySegment, partsOf, segmentText } from '../model/segments.ts';
import type { ComparedWith } from '../session.ts';
import type { Theme } from '../theme.ts';
import { clean, padEnd, padStart, width } from '../width.ts';
import { scrolled } from './scroll.ts';

/** Before and after a change: what it did, the steps both runs have, and the whole evidence record below. */
export function compareScreen(context: Context): Screenful {
  const { session, columns } = context;
  const { comparison } = session;
  if (!comparison)
    return { heading: [[' Compare']], lines: [[[' Open two runs with `waitfall compare BEFORE AFTER`.']]] };
  const lines: Line[] = [
    ...wrap(clean(comparison.conclusion), columns - 3).map((text): Line => [[` ${text}`, BOLD]]),
    [['']],
    ...factLines(context, comparison),
    [['']],
    ...stepLines(context, comparison),
    [['']],
    ...recordLines(comparison.record, columns),
  ];
  const heading: Line = [
    [' Compare  ', BOLD],
    [`${clean(comparison.before)} → ${clean(comparison.after)}`, DIM],
  ];
  return { ...scrolled(context, heading, lines), copy: comparison.conclusion };
}

const AFTER = 'after (the other tabs)';

function factLines({ session, columns }: Context, { report }: ComparedWith): Line[] {
  const facts = comparedFacts(report, session.report);
  const room = columns - 20;
  const after = Math.max(...facts.map((fact) => width(clean(fact.after))), width(AFTER));
  // The chain of queues is long on one side only, once the change has helped: that side gets what the other leaves.
  const wanted = Math.max(...facts.map((fact) => width(clean(fact.before))));
  const cells = Math.max(Math.floor(room / 2), Math.min(wanted, room - after - 1));
  const lines: Line[] = [[[`${' '.repeat(18)}${padEnd('before', cells)} ${AFTER}`, DIM]]];
  for (const fact of facts) {
    lines.push([
      [` ${padEnd(fact.what, 16)} `, DIM],
      [`${padEnd(clean(fact.before), cells)} `],
      [padEnd(clean(fact.after), room - cells), fact.before === fact.after ? undefined : BOLD],
    ]);
  }
  return lines;
}

/** For each step both runs have: the mean request of both, cut up on one scale. */
function stepLines({ session, columns, theme }: Context, { report }: ComparedWith): Line[] {
  const steps = commonSteps(report, session.report);
  if (steps.length === 0)
    return [[[' The runs have no step at the same rate: only their knees can be compared.', DIM]]];
  const lines: Line[] = [[[' The mean request at the same load, both on one scale', DIM]]];
  for (const { ratePerSecond, before, after } of steps) {
    const most = Math.max(before.latencyNs.mean ?? 0, after.latencyNs.mean ?? 0);
    lines.push(
      bar(`${padStart(rate(ratePerSecond), 8)} before`, before, most, columns, theme),
      bar('         after ', after, most, columns, theme),
    );
  }
  return lines;
}

function bar(title: string, window: WindowRow, mostNs: number, columns: number, theme: Theme): Line {
  const mean = window.latencyNs.mean ?? 0;
  const room = Math.max(10, columns - 40);
  const parts = bySegment(partsOf(window.segments)).map((part) => ({
    color: part.segment,
    label: segmentText(part.segment),
    value: part.meanNs,
  }));
  const cells = Math.max(1, Math.round((mean / (mostNs || 1)) * room));
  const drawn = strip(parts, cells, theme).bar;
  return [
    [`${title} `, DIM],
    [`${padStart(duration(window.latencyNs.mean), 9)} `],
    [padEnd(`p99 ${duration(window.latencyNs.p99)}`, 13), DIM],
    ...drawn,
  ];
}

const RENDERED = new WeakMap<Document, { columns: number; lines: readonly Line[] }>();

/** The evidence record as the text report prints it, laid out once for each width. */
function recordLines(record: Document, columns: number): readonly Line[] {
  const lineCells = Math.min(110, columns - 2);
  const known = RENDERED.get(record);
  if (known?.columns === lineCells) return known.lines;
  const lines = renderText(record, { columns: lineCells, ascii: false, color: false })
    .trimEnd()
    .split('\n')
    // The first section repeats what stands above.
    .slice(4)
    .map((text): Line => [[` ${text}`, /^\S/.test(text) ? BOLD : undefined]]);
  RENDERED.set(record, { columns: lineCells, lines });
  return lines;
}
