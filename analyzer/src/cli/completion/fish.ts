import type { CompletionModel, CompletionOption } from './model.ts';

/** @returns a completion script for fish, to be put into `~/.config/fish/completions/waitfall.fish`. */
export function fishScript({ name, options, commands }: CompletionModel): string {
  const names = commands.map((command) => command.name).join(' ');
  const none = `not __fish_seen_subcommand_from ${names}`;
  const lines = [
    `# fish completion for ${name}: ${name} completion fish | source`,
    ...commands.map(
      (command) => `complete -c ${name} -n '${none}' -a ${command.name} -d ${quoted(command.description)}`,
    ),
    ...options.map((option) => line(name, none, option)),
    ...commands.flatMap((command) => {
      const inside = `__fish_seen_subcommand_from ${command.name}`;
      const words =
        command.words.length > 0
          ? [`complete -c ${name} -n '${inside}' -f -a '${command.words.join(' ')}'`]
          : [];
      return [...command.options.map((option) => line(name, inside, option)), ...words];
    }),
  ];
  return `${lines.join('\n')}\n`;
}

function line(name: string, condition: string, option: CompletionOption): string {
  const short = option.short === null ? '' : ` -s ${option.short.slice(1)}`;
  const value = !option.takesValue
    ? ''
    : option.choices.length > 0
      ? ` -x -a '${option.choices.join(' ')}'`
      : ' -r';
  return `complete -c ${name} -n '${condition}'${short} -l ${option.long.slice(2)}${value} -d ${quoted(option.description)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
