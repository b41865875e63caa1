import { Option } from 'commander';
import type { CompareFlags } from '../commands/compare.ts';
import { addCommonOptions } from '../options.ts';
import { addCommand, type Define, EXIT_CODES, withProgramFlags } from './shared.ts';

export const defineCompare: Define = (program, outcome) => {
  const compare = addCommand(program, 'compare', 'open or print the evidence record of one change')
    .argument('<before>', 'run directory (or export) before the change')
    .argument('<after>', 'run directory (or export) after it')
    .addOption(
      new Option('--format <format>', 'what to print').choices(['text', 'json', 'markdown']).default('text'),
    )
    .addHelpText(
      'after',
      `
Runs with a load plan (load.json) and a manifest (manifest.json) compare best.
Opens the terminal UI on a terminal, unless a --format is asked for.

Examples:
  waitfall compare runs/before runs/after
  waitfall compare runs/before runs/after --format markdown -o change.md
${EXIT_CODES}`,
    );
  return addCommonOptions(compare).action(async (before: string, after: string, own: CompareFlags) => {
    const flags = withProgramFlags(own, compare, program);
    // A format that was asked for is printed, also on a terminal.
    if (compare.getOptionValueSource('format') !== 'cli') {
      const { canOpen, viewComparison } = await import('../commands/view.ts');
      if (canOpen([before, after], flags)) {
        outcome.exitCode = await viewComparison(before, after, flags);
        return;
      }
    }
    const { compareCommand } = await import('../commands/compare.ts');
    outcome.exitCode = await compareCommand(before, after, flags);
  });
};
