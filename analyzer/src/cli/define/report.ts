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
    .addOption(
      new Option(
        '--memory <size>',
        'memory beyond which spans go to a temporary file, e.g. 256M (default: half of what is free, 1G at most)',
      ).env('WAITFALL_MEMORY'),
    )
    .addHelpText(
      'after',
      `
--format requests prints one JSON line a trace tree, with the ns each segment owns.
--memory changes how long a report takes, never what it says. The temporary file has no name and is
gone with the process; TMPDIR says where. --format requests and --by keep all spans in memory.

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
