import type { Command } from 'commander';
import { bashScript } from '../completion/bash.ts';
import { fishScript } from '../completion/fish.ts';
import { type CompletionModel, completionModel } from '../completion/model.ts';
import { zshScript } from '../completion/zsh.ts';
import { EXIT } from '../errors.ts';
import { write } from '../output.ts';

const SCRIPTS: Readonly<Record<string, (model: CompletionModel) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** `waitfall completion SHELL`: prints the script that completes commands, options and their values. */
export async function completionCommand(shell: string, program: Command): Promise<number> {
  await write([SCRIPTS[shell](completionModel(program))], undefined);
  return EXIT.answered;
}
