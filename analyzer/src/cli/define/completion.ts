import { Argument } from 'commander';
import { addCommand, type Define } from './shared.ts';

export const defineCompletion: Define = (program, outcome) =>
  addCommand(program, 'completion', 'print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      `
Examples:
  eval "$(waitfall completion bash)"         in ~/.bashrc
  source <(waitfall completion zsh)          in ~/.zshrc, after compinit
  waitfall completion fish | source          in ~/.config/fish/config.fish`,
    )
    .action(async (shell: string) => {
      const { completionCommand } = await import('../commands/completion.ts');
      outcome.exitCode = await completionCommand(shell, program);
    });
