import type { Command } from 'commander';
import type { CommonFlags } from '../options.ts';

/** Ran to its end: the exit code of whichever command was chosen. */
export interface Outcome {
  exitCode: number;
}

/** Adds one command to the program. Only its action loads what the command needs. */
export type Define = (program: Command, outcome: Outcome) => Command;

export const INPUTS =
  'files, directories or globs of a trace export, or - for standard input; gzip and zstd too';

export const EXIT_CODES = `
Exit codes: 0 answered; 1 the input held no usable trace; 2 usage; 3 a budget was broken;
4 part of the input could not be read, and --strict was given.`;

/** @returns a command of the program, without options yet. */
export function addCommand(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .helpOption('-h, --help', 'print this help')
    .exitOverride();
}

/** Flags given before the command count too: `waitfall --ascii report …`. */
export function withProgramFlags<T extends CommonFlags>(own: T, command: Command, program: Command): T {
  const before = Object.entries(program.opts()).filter(
    ([name]) => program.getOptionValueSource(name) === 'cli' && command.getOptionValueSource(name) !== 'cli',
  );
  return { ...own, ...Object.fromEntries(before) };
}
