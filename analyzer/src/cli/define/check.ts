import { Option } from 'commander';
import type { CheckFlags } from '../commands/check.ts';
import { addCommonOptions } from '../options.ts';
import { addCommand, type Define, EXIT_CODES, INPUTS, withProgramFlags } from './shared.ts';

export const defineCheck: Define = (program, outcome) => {
  const check = addCommand(program, 'check', 'exit with 3 where a budget is broken, for CI')
    .argument('[inputs...]', INPUTS)
    .addOption(
      new Option(
        '--budget <limits>',
        'limits apart by commas, e.g. "p99<200ms,lock_wait p99<20ms" (repeatable)',
      )
        .makeOptionMandatory()
        .argParser((value: string, previous: readonly string[] | undefined) => [...(previous ?? []), value]),
    )
    .addOption(new Option('--format <format>', 'what to print').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      `
Limits, over all requests that are selected:
  p50 p90 p95 p99 p99.9 max mean < duration    of the requests, or of a segment or
                                               queue that is named before them
  SEGMENT-OR-QUEUE share < 5%                  of all time
  errors < 0.1%      rejected, timed out, aborted and failed of all
  coverage > 80%     time that is accounted for
  knee > 100/s       rate at which the first queue saturates, else the highest rate
                     that was tried without
What the input cannot say counts as broken.

Examples:
  waitfall check run/ --budget "p99<200ms,errors<0.1%"
  waitfall check run/ --budget "knee>100/s" --budget "lock_wait p99<20ms"
  waitfall check traces.jsonl --route "POST /signup" --budget "pg-pool:signup share<5%"
${EXIT_CODES}`,
    );
  return addCommonOptions(check).action(async (inputs: string[], own: CheckFlags) => {
    const flags = withProgramFlags(own, check, program);
    const { checkCommand } = await import('../commands/check.ts');
    outcome.exitCode = await checkCommand(inputs, flags);
  });
};
