import type { CompletionModel, CompletionOption } from './model.ts';

/** @returns a completion script for zsh, to be sourced, or put into `$fpath` as `_waitfall`. */
export function zshScript({ name, options, commands }: CompletionModel): string {
  const described = commands.map((command) => `    ${quoted(`${command.name}:${command.description}`)}`);
  const cases = commands.map(
    (command) => `    ${command.name})
      _arguments -s ${[...command.options.flatMap(spec), rest(command.words)].join(' ')} ;;`,
  );
  return `#compdef ${name}
# zsh completion for ${name}: source <(${name} completion zsh)
_${name}() {
  local -a commands
  commands=(
${described.join('\n')}
  )
  local command=\${words[2]}
  if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    _describe command commands
    _files
    return
  fi
  if (( CURRENT > 2 )) && (( \${commands[(I)$command:*]} )); then
    shift words
    (( CURRENT-- ))
  else
    command=''
  fi
  case $command in
${cases.join('\n')}
    *)
      _arguments -s ${[...options.flatMap(spec), rest([])].join(' ')} ;;
  esac
}
if [[ $funcstack[1] == _${name} ]]; then _${name} "$@"; else compdef _${name} ${name}; fi
`;
}

function spec(option: CompletionOption): string[] {
  const value = !option.takesValue
    ? ''
    : option.choices.length > 0
      ? `:value:(${option.choices.join(' ')})`
      : ':value:_files';
  const text = `[${option.description.replaceAll(/[[\]:]/g, (sign) => `\\${sign}`)}]${value}`;
  return [option.long, ...(option.short === null ? [] : [option.short])].map((flag) =>
    quoted(`*${flag}${text}`),
  );
}

function rest(words: readonly string[]): string {
  return quoted(words.length > 0 ? `*:word:(${words.join(' ')})` : '*:file:_files');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
