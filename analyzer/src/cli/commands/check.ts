import { parseBudgets } from '../check/budget.ts';
import { EXIT, errors } from '../errors.ts';
import { load } from '../load.ts';
import { type CommonFlags, textStyle } from '../options.ts';
import { write } from '../output.ts';
import { exitCode, requireRoute } from './report.ts';

export interface CheckFlags extends CommonFlags {
  readonly budget: readonly string[];
  readonly format: 'text' | 'json';
}

/** `waitfall check`: are the budgets kept? @returns the exit code, {@link EXIT.budget} where one is not. */
export async function checkCommand(inputs: readonly string[], flags: CheckFlags): Promise<number> {
  const budgets = flags.budget.flatMap((text) => {
    try {
      return parseBudgets(text);
    } catch (error) {
      throw errors.badSyntax('--budget', (error as Error).message);
    }
  });
  const analysis = await load(inputs, flags);
  if (analysis.forest.trees.length === 0) throw errors.nothingToCheck(inputs);
  if (flags.route !== undefined) requireRoute(analysis, flags.route);
  const [{ selectRoute }, { judge }] = await Promise.all([
    import('../../report/build.ts'),
    import('../check/judge.ts'),
  ]);
  const members = selectRoute(analysis, flags.route);
  const judged = judge(analysis, members, budgets);
  await write([await render()], flags.output);
  const code = exitCode(analysis, flags);
  return judged.every((each) => each.kept) ? code : EXIT.budget;

  async function render(): Promise<string> {
    if (flags.format === 'json') {
      const { toJson } = await import('../../report/json.ts');
      const budgets = judged.map(({ budget: { text, limit }, value, kept, note }) => ({
        budget: text,
        limit,
        value,
        kept,
        note,
      }));
      return `${toJson({ requests: members.length, kept: judged.every((each) => each.kept), budgets }, 2)}\n`;
    }
    const [{ layOutCheck }, { renderText }] = await Promise.all([
      import('../check/lay-out.ts'),
      import('../../report/text.ts'),
    ]);
    return renderText(layOutCheck(judged, members.length), textStyle(flags));
  }
}
