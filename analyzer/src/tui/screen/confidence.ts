import type { Statement } from '../../infer/types.ts';
import type { Context, Screenful } from '../context.ts';
import { wrap } from '../draw/text.ts';
import { BOLD, DIM, type Line } from '../line.ts';
import { verdictSentence } from '../model/verdict.ts';
import { clean } from '../width.ts';
import { scrolled } from './scroll.ts';

/** Everything the verdict rests on, in full sentences. */
export function confidenceScreen(context: Context): Screenful {
  const { session, columns, state } = context;
  const { verdict } = session.report;
  const lines: Line[] = [];
  const section = (title: string, statements: readonly string[]): void => {
    if (statements.length === 0) return;
    lines.push([['']], [[` ${title}`, BOLD]]);
    for (const text of statements)
      wrap(clean(text), columns - 6).forEach((part, index) => {
        lines.push([[index === 0 ? '   · ' : '     ', DIM], [part]]);
      });
  };
  const texts = (statements: readonly Statement[]): string[] => statements.map((statement) => statement.text);
  for (const text of wrap(clean(verdictSentence(session)[0]), columns - 2)) lines.push([[` ${text}`, BOLD]]);
  section(`Confidence: ${verdict.confidence.level}`, verdict.confidence.reasons);
  section('Evidence', texts(verdict.evidence));
  section('Ruled out', texts(verdict.ruledOut));
  section('Findings', texts(verdict.findings));
  section('What if', [
    ...verdict.whatIf.map((change) => `${change.change}: ${change.text}`),
    ...state.changes,
  ]);
  return scrolled(context, [[' Verdict › why']], lines);
}
