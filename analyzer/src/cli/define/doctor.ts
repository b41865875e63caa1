import { Option } from 'commander';
import type { DoctorFlags } from '../commands/doctor.ts';
import { addCommonOptions } from '../options.ts';
import { addCommand, type Define, EXIT_CODES, withProgramFlags } from './shared.ts';

export const defineDoctor: Define = (program, outcome) => {
  const doctor = addCommand(program, 'doctor', 'say what was measured in each service, and what was not')
    .argument('[inputs...]', 'a trace export, as for report; with --start the command of a service')
    .addOption(new Option('--start', 'run the command after --, record its spans, and examine them'))
    .addOption(new Option('--for <duration>', 'with --start: end the service after this time'))
    .addOption(
      new Option('--min-coverage <share>', 'exit with 3 where a service accounts for less of its time'),
    )
    .addOption(new Option('--format <format>', 'what to print').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Says for each service which instrumentations recorded spans, in which version; which
waits they saw; how much of its time that explains; and what to enable to see more.
What is marked with ! makes numbers wrong, the rest only hides some.
With --start the service must load @waitfall/instrumentation; send it requests meanwhile.

Examples:
  waitfall doctor traces.jsonl
  waitfall doctor run/ --min-coverage 80%
  waitfall doctor --start -- node --import @waitfall/instrumentation/register server.js
${EXIT_CODES}`,
    );
  return addCommonOptions(doctor).action(async (words: string[], own: DoctorFlags) => {
    const flags = withProgramFlags(own, doctor, program);
    const { doctorCommand } = await import('../commands/doctor.ts');
    outcome.exitCode = await doctorCommand(words, flags);
  });
};
