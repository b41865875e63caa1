/** Exit codes of the command (documented in README.md and in --help). */
export const EXIT = {
  answered: 0,
  /** The input held no usable trace. */
  noTrace: 1,
  /** Wrong use, or something named on the command line that cannot be read. */
  usage: 2,
  /** A budget was broken. */
  budget: 3,
  /** Part of the input could not be read, and --strict asked to be told. */
  partial: 4,
  /** A fault of Waitfall itself (EX_SOFTWARE of sysexits.h). */
  internal: 70,
} as const;

/** What can go wrong before there is an answer: a code for scripts, and what, where and what to do for people. */
export class CliError extends Error {
  readonly code: string;
  readonly exitCode: number;

  constructor(code: string, message: string, exitCode: number = EXIT.usage) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
  }
}

export const errors = {
  noInput: () =>
    new CliError(
      'NO_INPUT',
      'no input: name files or directories of a trace export, or - for standard input (waitfall --help)',
    ),
  notFound: (path: string, command: string | null) =>
    new CliError(
      'NOT_FOUND',
      `${path}: no such file or directory${command === null ? '' : `; did you mean the command '${command}'?`}`,
    ),
  unreadable: (path: string, why: string) => new CliError('UNREADABLE', `${path}: cannot be read: ${why}`),
  unwritable: (path: string, why: string) => new CliError('UNWRITABLE', `${path}: cannot be written: ${why}`),
  badOption: (option: string, value: string, expected: string) =>
    new CliError('BAD_OPTION', `${option} '${value}' is not understood; ${expected}`),
  nothingSelected: (first: string, last: string) =>
    new CliError(
      'NOTHING_SELECTED',
      `no request starts between --from and --to; the requests of the input start from ${first} to ${last}`,
    ),
  nothingToCompare: (path: string) =>
    new CliError(
      'NO_TRACES',
      `${path}: holds no usable trace (waitfall report ${path} says why)`,
      EXIT.noTrace,
    ),
  badFile: (path: string, expected: string) => new CliError('BAD_FILE', `${path}: ${expected}`),
  noRoute: (route: string, routes: readonly string[]) =>
    new CliError(
      'NO_ROUTE',
      `no request has the route '${route}'; the input has ${
        routes.length === 0 ? 'none' : routes.slice(0, 8).join(', ')
      }${routes.length > 8 ? ` and ${routes.length - 8} more` : ''}`,
    ),
  noTrace: (id: string, close: readonly string[]) =>
    new CliError(
      'NO_TRACE',
      close.length === 0
        ? `trace ${id} is not in the input`
        : `${close.length} traces start with ${id}: ${close.slice(0, 5).join(', ')}${close.length > 5 ? ', …' : ''}`,
      EXIT.noTrace,
    ),
};
