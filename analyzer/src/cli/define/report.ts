import { Option } from 'commander';
import type { ReportFlags } from '../commands/report.ts';
import { addCommonOptions } from '../options.ts';
import { addCommand, type Define, EXIT_CODES, INPUTS, withProgramFlags } from './shared.ts';

export const defineReport: Define = (program, outcome) => {
  const report = addCommand(program, 'report', 'print the report')
    .argument('[inputs...]', INPUTS)
    .addOption(
      new Option('--format <format>', 'what to print')
        .choices(['text', 'json', 'markdown', 'requests'])
        .default('text'),
    )
    .addHelpText(
      'after',
      `
--format requests prints one JSON line a trace tree, with the ns each segment owns.

Examples:
  waitfall report traces.jsonl
  waitfall report run/ --format markdown -o report.md
  waitfall report traces.jsonl --by tenant.id --route /signup
  waitfall report run/ --what-if "pg-pool:signup capacity 20"
  zstd -dc traces.jsonl.zst | waitfall report - --format requests | head
${EXIT_CODES}`,
    );
  return addCommonOptions(report).action(async (inputs: string[], own: ReportFlags) => {
    const flags = withProgramFlags(own, report, program);
    const { reportCommand } = await import('../commands/report.ts');
    outcome.exitCode = await reportCommand(inputs, flags);
  });
};
