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
  /** @param why names the part that is not understood, and what to write. */
  badSyntax: (option: string, why: string) => new CliError('BAD_OPTION', `${option}: ${why}`),
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
  nothingToCheck: (inputs: readonly string[]) =>
    new CliError(
      'NO_TRACES',
      `the input holds no usable trace (waitfall report ${inputs.join(' ')} says why)`,
      EXIT.noTrace,
    ),
  notStarted: (command: string, why: string) =>
    new CliError('NOT_STARTED', `${command}: cannot be started: ${why}`),
  nothingRecorded: () =>
    new CliError(
      'NOTHING_RECORDED',
      'the service wrote no span: does it load @waitfall/instrumentation (node --import @waitfall/instrumentation/register), and did a request reach it?',
      EXIT.noTrace,
    ),
  noRoom: (why: string) =>
    new CliError('NO_ROOM', `${why}; raise --memory, or set TMPDIR to a directory with room`),
  noProject: (folder: string) =>
    new CliError(
      'NO_PROJECT',
      `${folder}: no package.json here; name the folder of a service (waitfall init FOLDER)`,
    ),
  nothingToWrite: () =>
    new CliError(
      'NOTHING_TO_WRITE',
      'no script was added: the set-up belongs into your code, or nothing that starts the service was found',
    ),
  badFile: (path: string, expected: string) => new CliError('BAD_FILE', `${path}: ${expected}`),
  noRoute: (route: string, routes: readonly string[], close: string | null) =>
    new CliError('NO_ROUTE', `no request has the route '${route}'${instead(close, routes)}`),
  noQueue: (option: string, queue: string, queues: readonly string[], close: string | null) =>
    new CliError('NO_QUEUE', `${option}: no queue is called '${queue}'${instead(close, queues)}`),
  noAttribute: (attribute: string, attributes: readonly string[], close: string | null) =>
    new CliError(
      'NO_ATTRIBUTE',
      `--by: no span and no process has the attribute '${attribute}'${instead(close, attributes)}`,
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

/** Names listed in a message; nobody reads more. */
const MOST_NAMES = 8;

/** What to write instead of a name that is not there. */
function instead(close: string | null, names: readonly string[]): string {
  const rest = names.length - MOST_NAMES;
  const listed = names.length === 0 ? 'none' : names.slice(0, MOST_NAMES).join(', ');
  const list = `he input has ${listed}${rest > 0 ? ` and ${rest} more` : ''}`;
  return close === null ? `; t${list}` : `; did you mean '${close}'? T${list}`;
}
