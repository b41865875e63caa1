import { Option } from 'commander';
import type { SizeFlags } from '../commands/size.ts';
import { addCommonOptions } from '../options.ts';
import { addCommand, type Define, EXIT_CODES, INPUTS, withProgramFlags } from './shared.ts';

export const defineSize: Define = (program, outcome) => {
  const size = addCommand(program, 'size', 'print how many servers each queue needs at a rate')
    .argument('[inputs...]', INPUTS)
    .addOption(new Option('--rate <rate>', 'requests per second to size for').makeOptionMandatory())
    .addOption(new Option('--wait <duration>', 'mean wait that is acceptable').makeOptionMandatory())
    .addHelpText(
      'after',
      `
Prints the rule of thumb (rate x hold x 1.5 to 2) beside the size Erlang C gives.

Examples:
  waitfall size run/ --rate 200 --wait 5ms
  waitfall size traces.jsonl --rate 200/s --wait 1ms --route /signup
${EXIT_CODES}`,
    );
  return addCommonOptions(size).action(async (inputs: string[], own: SizeFlags) => {
    const flags = withProgramFlags(own, size, program);
    const { sizeCommand } = await import('../commands/size.ts');
    outcome.exitCode = await sizeCommand(inputs, flags);
  });
};
