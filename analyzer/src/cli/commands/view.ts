import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { EXIT } from '../errors.ts';
import { checkPaths } from '../load.ts';
import { analyzeOptions, buildOptions, type CommonFlags, rulesOf } from '../options.ts';
import { Progress } from '../output.ts';
import { reportCommand } from './report.ts';

/** `waitfall [inputs…]`: the terminal UI on a terminal, the text report elsewhere. @returns the exit code. */
export async function viewCommand(inputs: readonly string[], flags: CommonFlags): Promise<number> {
  const text = (): Promise<number> => reportCommand(inputs, { ...flags, format: 'text' });
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true || flags.output !== undefined)
    return text();
  if (process.env['INK_SCREEN_READER'] === 'true' || inputs.length === 0 || inputs.includes('-'))
    return text();
  checkPaths(inputs);
  const options = analyzeOptions(flags);
  await rulesOf(flags);
  // Ink, React and the screens load while the worker reads.
  const { startSession } = await import('../../tui/remote-session.ts');
  const progress = new Progress();
  const rulesYaml = flags.rules === undefined ? null : readFileSync(flags.rules, 'utf8');
  const job = {
    paths: inputs,
    title: titleOf(inputs),
    analyze: options,
    build: buildOptions(flags),
    rulesYaml,
  };
  const started = startSession(job, (line) => progress.say(line));
  const light = import('../../tui/background.ts').then(({ askBackground }) =>
    askBackground(process.stdin, process.stdout),
  );
  const [{ session, close }, { openTui }, background] = await Promise.all([
    started,
    import('../../tui/index.tsx'),
    light,
  ]);
  progress.clear();
  try {
    if (session.traces.count === 0) return await text();
    await openTui(session, {
      command: `waitfall ${inputs.map(quoted).join(' ')}`,
      ...(flags.color ? {} : { color: false }),
      ...(flags.ascii ? { ascii: true } : {}),
      ...(background === undefined ? {} : { light: background }),
    });
  } finally {
    close();
  }
  return flags.strict && session.report.input.rejected.length > 0 ? EXIT.partial : EXIT.answered;
}

function titleOf(inputs: readonly string[]): string {
  const [first, ...rest] = inputs;
  return rest.length === 0 ? basename(first) || first : `${basename(first)} and ${rest.length} more`;
}

/** A path as a shell takes it. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
