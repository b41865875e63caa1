import { type Argument, Command, CommanderError } from 'commander';
import { VERSION } from '../report/version.ts';
import { defineCheck } from './define/check.ts';
import { defineCompare } from './define/compare.ts';
import { defineCompletion } from './define/completion.ts';
import { defineDoctor } from './define/doctor.ts';
import { defineInit } from './define/init.ts';
import { defineReport } from './define/report.ts';
import { type Define, EXIT_CODES, INPUTS, type Outcome } from './define/shared.ts';
import { defineSize } from './define/size.ts';
import { defineTrace } from './define/trace.ts';
import { addCommonOptions, type CommonFlags } from './options.ts';

/** Every command, in the order of `--help`. */
const DEFINITIONS: readonly Define[] = [
  defineReport,
  defineTrace,
  defineCompare,
  defineSize,
  defineCheck,
  defineDoctor,
  defineInit,
  defineCompletion,
];

function term(argument: Argument): string {
  const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${text}>` : `[${text}]`;
}

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
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .argument('[inputs...]', INPUTS)
    .enablePositionalOptions()
    .configureHelp({
      helpWidth: 80,
      minWidthToWrap: 30,
      // Every command has options: saying so for each takes the room of what it does.
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(term)].join(' '),
    })
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
  waitfall init                             how to instrument the project you stand in
  waitfall doctor traces.jsonl              what was measured, and what was not
${EXIT_CODES}`,
    );
  addCommonOptions(program).action(async (inputs: string[], flags: CommonFlags) => {
    const { viewCommand } = await import('./commands/view.ts');
    outcome.exitCode = await viewCommand(inputs, flags);
  });
  for (const define of DEFINITIONS) {
    const command = define(program, outcome);
    command.showHelpAfterError(`(waitfall ${command.name()} --help: how it is used, with examples)`);
  }
  return program;
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
