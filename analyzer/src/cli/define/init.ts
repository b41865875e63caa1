import { Option } from 'commander';
import type { InitFlags } from '../commands/init.ts';
import { addCommand, type Define } from './shared.ts';

export const defineInit: Define = (program, outcome) =>
  addCommand(program, 'init', 'print how to instrument the project in a folder')
    .argument('[folder]', 'folder with the package.json of the service', '.')
    .addOption(new Option('--write', 'add a start:waitfall script to package.json; nothing else is changed'))
    .addOption(new Option('--format <format>', 'what to print').choices(['text', 'json']).default('text'))
    .addOption(new Option('--no-color', 'no colours, also on a terminal'))
    .addOption(new Option('--ascii', 'only ASCII characters'))
    .addHelpText(
      'after',
      `
Looks at package.json, the lock file, installed packages and the start script; starts
nothing, installs nothing, and changes nothing without --write.

Examples:
  waitfall init
  waitfall init services/orders --write

Exit codes: 0 answered; 2 usage, or no package.json in the folder.`,
    )
    .action(async (folder: string, flags: InitFlags) => {
      const { initCommand } = await import('../commands/init.ts');
      outcome.exitCode = await initCommand(folder, flags);
    });
