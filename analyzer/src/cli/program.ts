import { Command, CommanderError, Option } from 'commander';
import { VERSION } from '../report/version.ts';
import type { CompareFlags } from './commands/compare.ts';
import type { ReportFlags } from './commands/report.ts';
import type { SizeFlags } from './commands/size.ts';
import { addCommonOptions, type CommonFlags } from './options.ts';

/** Ran to its end: the exit code of whichever command was chosen. */
export interface Outcome {
  exitCode: number;
}

const INPUTS = 'files, directories or globs of a trace export, or - for standard input; gzip and zstd too';

const EXIT_CODES = `
Exit codes: 0 answered; 1 the input held no usable trace; 2 usage; 3 a budget was broken;
4 part of the input could not be read, and --strict was given.`;

/**
 * The command line. Only what a command needs is loaded, and only once it runs: `--help` and `--version` load neither
 * the analysis nor the terminal UI.
 */
export function buildProgram(outcome: Outcome): Command {
  const program = new Command('waitfall')
    .description(
      'Latency decomposition for Node services: where did the time go, and which queue filled up first?\n\n' +
        'Opens the terminal UI on a terminal and prints the text report elsewhere.',
    )
    .version(VERSION, '--version', 'print the version')
    .helpOption('--help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .argument('[inputs...]', INPUTS)
    .enablePositionalOptions()
    .configureHelp({ helpWidth: 80 })
    .exitOverride()
    .showHelpAfterError('(waitfall --help lists commands and options)')
    .configureOutput({ outputError: (text, write) => write(`waitfall: ${text.replace(/^error: /, '')}`) })
    .addHelpText(
      'after',
      `
Examples:
  waitfall traces.jsonl                     open the terminal UI
  waitfall run-2026-05-01/                  a run directory: traces, metrics and load plan
  waitfall report traces.jsonl.zst --format json -o report.json
  waitfall trace 4bf92f3577b34da6a3ce929d0e0e4736 traces.jsonl
${EXIT_CODES}`,
    );
  addCommonOptions(program).action(async (inputs: string[], flags: CommonFlags) => {
    const { viewCommand } = await import('./commands/view.ts');
    outcome.exitCode = await viewCommand(inputs, flags);
  });

  const command = (name: string, description: string) =>
    program.command(name).description(description).helpOption('--help', 'print this help').exitOverride();

  const report = command('report', 'print the report')
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
  zstd -dc traces.jsonl.zst | waitfall report - --format requests | head
${EXIT_CODES}`,
    );
  addCommonOptions(report).action(async (inputs: string[], own: ReportFlags) => {
    const flags = withProgramFlags(own, report, program);
    const { reportCommand } = await import('./commands/report.ts');
    outcome.exitCode = await reportCommand(inputs, flags);
  });

  const trace = command('trace', 'print one trace: its waterfall and who owned each moment')
    .argument('<trace-id>', 'id of the trace, or the start of it')
    .argument('[inputs...]', INPUTS)
    .addHelpText(
      'after',
      `
Example:
  waitfall trace 4bf92f35 traces.jsonl
${EXIT_CODES}`,
    );
  addCommonOptions(trace).action(async (id: string, inputs: string[], own: CommonFlags) => {
    const flags = withProgramFlags(own, trace, program);
    const { traceCommand } = await import('./commands/trace.ts');
    outcome.exitCode = await traceCommand(id, inputs, flags);
  });

  const compare = command('compare', 'open or print the evidence record of one change')
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

Example:
  waitfall compare runs/before runs/after --format markdown -o change.md
${EXIT_CODES}`,
    );
  addCommonOptions(compare).action(async (before: string, after: string, own: CompareFlags) => {
    const flags = withProgramFlags(own, compare, program);
    // A format that was asked for is printed, also on a terminal.
    if (compare.getOptionValueSource('format') !== 'cli') {
      const { canOpen, viewComparison } = await import('./commands/view.ts');
      if (canOpen([before, after], flags)) {
        outcome.exitCode = await viewComparison(before, after, flags);
        return;
      }
    }
    const { compareCommand } = await import('./commands/compare.ts');
    outcome.exitCode = await compareCommand(before, after, flags);
  });

  const size = command('size', 'print how many servers each queue needs at a rate')
    .argument('[inputs...]', INPUTS)
    .addOption(new Option('--rate <rate>', 'requests per second to size for').makeOptionMandatory())
    .addOption(new Option('--wait <duration>', 'mean wait that is acceptable').makeOptionMandatory())
    .addHelpText(
      'after',
      `
Prints the rule of thumb (rate x hold x 1.5 to 2) beside the size Erlang C gives.

Example:
  waitfall size run/ --rate 200 --wait 5ms
${EXIT_CODES}`,
    );
  addCommonOptions(size).action(async (inputs: string[], own: SizeFlags) => {
    const flags = withProgramFlags(own, size, program);
    const { sizeCommand } = await import('./commands/size.ts');
    outcome.exitCode = await sizeCommand(inputs, flags);
  });
  return program;
}

/** Flags given before the command count too: `waitfall --ascii report …`. */
function withProgramFlags<T extends CommonFlags>(own: T, command: Command, program: Command): T {
  const before = Object.entries(program.opts()).filter(
    ([name]) => program.getOptionValueSource(name) === 'cli' && command.getOptionValueSource(name) !== 'cli',
  );
  return { ...own, ...Object.fromEntries(before) };
}

/** Parses the arguments and runs the command. @returns the exit code; prints what went wrong. */
export async function run(args: readonly string[]): Promise<number> {
  const outcome: Outcome = { exitCode: 0 };
  try {
    await buildProgram(outcome).parseAsync(args, { from: 'user' });
    return outcome.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}
