import type { CompletionModel, CompletionOption } from './model.ts';

/** @returns a completion script for bash 3.2 and later; where nothing is proposed, bash completes file names. */
export function bashScript({ name, options, commands }: CompletionModel): string {
  const names = commands.map((command) => command.name).join(' ');
  const perCommand = commands.map(
    (command) =>
      `    ${command.name}) words='${flags(command.options)}'; names='${command.words.join(' ')}' ;;`,
  );
  const choices = [{ name: '', options }, ...commands].flatMap((command) =>
    command.options
      .filter((option) => option.choices.length > 0)
      .map(
        (option) =>
          `    '${command.name} ${option.long}') COMPREPLY=($(compgen -W '${option.choices.join(' ')}' -- "$cur")); return ;;`,
      ),
  );
  const valued = [
    ...new Set(
      [options, ...commands.map((each) => each.options)]
        .flat()
        .filter((o) => o.takesValue)
        .flatMap(spellings),
    ),
  ];
  return `# bash completion for ${name}: eval "$(${name} completion bash)"
_${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command='' words='' names='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case " ${names} " in *" \${COMP_WORDS[i]} "*) command=\${COMP_WORDS[i]}; break ;; esac
  done
  COMPREPLY=()
  case "$command $prev" in
${choices.join('\n')}
  esac
  case " ${valued.join(' ')} " in *" $prev "*) return ;; esac
  case "$command" in
    '') words='${flags(options)}'; names='${names}' ;;
${perCommand.join('\n')}
  esac
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$names" -- "$cur")) ;;
  esac
}
complete -o bashdefault -o default -F _${name} ${name}
`;
}

function flags(options: readonly CompletionOption[]): string {
  return options.flatMap(spellings).join(' ');
}

function spellings({ short, long }: CompletionOption): string[] {
  return short === null ? [long] : [short, long];
}
