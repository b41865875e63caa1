import type { Command, Option } from 'commander';

export interface CompletionOption {
  /** `-o`, where there is one. */
  readonly short: string | null;
  /** `--output`. */
  readonly long: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** The only values; empty where any is taken. */
  readonly choices: readonly string[];
}

export interface CompletionCommand {
  readonly name: string;
  readonly description: string;
  readonly options: readonly CompletionOption[];
  /** The only words its argument may be; empty where files are taken. */
  readonly words: readonly string[];
}

/** What a shell can complete, read from the program itself: a new command or option needs nothing more. */
export interface CompletionModel {
  readonly name: string;
  readonly options: readonly CompletionOption[];
  readonly commands: readonly CompletionCommand[];
}

/** @returns everything that can be completed. */
export function completionModel(program: Command): CompletionModel {
  const help = program.createHelp();
  const commands = help.visibleCommands(program).map((command) => ({
    name: command.name(),
    description: command.description(),
    options: help.visibleOptions(command).map(optionOf),
    words:
      command.name() === 'help'
        ? help.visibleCommands(program).map((each) => each.name())
        : command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
  }));
  return { name: program.name(), options: help.visibleOptions(program).map(optionOf), commands };
}

function optionOf(option: Option): CompletionOption {
  return {
    short: option.short ?? null,
    long: option.long ?? '',
    description: option.description,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
  };
}
