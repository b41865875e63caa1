import { addCommonOptions, type CommonFlags } from '../options.ts';
import { addCommand, type Define, EXIT_CODES, INPUTS, withProgramFlags } from './shared.ts';

export const defineTrace: Define = (program, outcome) => {
  const trace = addCommand(program, 'trace', 'print one trace: its waterfall and who owned each moment')
    .argument('<trace-id>', 'id of the trace, or the start of it')
    .argument('[inputs...]', INPUTS)
    .addHelpText(
      'after',
      `
Examples:
  waitfall trace 4bf92f35 traces.jsonl
  waitfall trace 4bf92f3577b34da6a3ce929d0e0e4736 run/ --ascii
${EXIT_CODES}`,
    );
  return addCommonOptions(trace).action(async (id: string, inputs: string[], own: CommonFlags) => {
    const flags = withProgramFlags(own, trace, program);
    const { traceCommand } = await import('../commands/trace.ts');
    outcome.exitCode = await traceCommand(id, inputs, flags);
  });
};
