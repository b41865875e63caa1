import { readFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '../../tui/worker.ts';
import { EXIT } from '../errors.ts';
import { checkPaths } from '../load.ts';
import { analyzeOptions, buildOptions, type CommonFlags, rulesOf, threadsOf } from '../options.ts';
import { planOf } from '../plan.ts';

/** `waitfall [inputs…]`: the terminal UI on a terminal, the text report elsewhere. @returns the exit code. */
export async function viewCommand(inputs: readonly string[], flags: CommonFlags): Promise<number> {
  const text = async (): Promise<number> => {
    const { reportCommand } = await import('./report.ts');
    return reportCommand(inputs, { ...flags, format: 'text' });
  };
  if (!canOpen(inputs, flags)) return text();
  checkPaths(inputs);
  const job = { ...(await jobOf(inputs, flags)), manifest: null, title: titleOf(inputs) };
  return (await open(job, `waitfall ${inputs.map(quoted).join(' ')}`, flags)) ?? text();
}

/** `waitfall compare BEFORE AFTER` on a terminal: the run after the change, beside the one before. @returns the exit code. */
export async function viewComparison(before: string, after: string, flags: CommonFlags): Promise<number> {
  checkPaths([before, after]);
  const { compareCommand, manifestOf } = await import('./compare.ts');
  const job: Job = {
    ...(await jobOf([after], flags)),
    title: titleOf([after]),
    manifest: manifestOf(after),
    before: { path: before, manifest: manifestOf(before) },
  };
  const command = `waitfall compare ${quoted(before)} ${quoted(after)}`;
  return (await open(job, command, flags)) ?? compareCommand(before, after, { ...flags, format: 'text' });
}

/**
 * @returns true when the screens can be used: both ends are terminals that can move a cursor, nothing is piped in,
 * nobody reads them aloud.
 */
export function canOpen(inputs: readonly string[], flags: CommonFlags): boolean {
  if (process.stdin.isTTY !== true || process.stdout.isTTY !== true || flags.output !== undefined)
    return false;
  if (process.env['TERM'] === 'dumb') return false;
  return process.env['INK_SCREEN_READER'] !== 'true' && inputs.length > 0 && !inputs.includes('-');
}

async function jobOf(
  paths: readonly string[],
  flags: CommonFlags,
): Promise<Omit<Job, 'title' | 'manifest' | 'before'>> {
  const options = { ...analyzeOptions(flags), ...(await planOf(flags)) };
  // Read here for its faults: the worker cannot name them as well.
  await rulesOf(flags);
  const rulesYaml = flags.rules === undefined ? null : readFileSync(flags.rules, 'utf8');
  return { paths, ...threadsOf(flags), analyze: options, build: buildOptions(flags), rulesYaml };
}

/** An analysis that takes longer opens with what it has. Shorter ones need no screen that is gone at once. */
const OPEN_AFTER_MS = 600;

/** @returns the exit code; undefined where the input has no trace to show. */
async function open(job: Job, command: string, flags: CommonFlags): Promise<number | undefined> {
  // A fifth less CPU until the first screen, from the second start on; NODE_DISABLE_COMPILE_CACHE=1 turns it off.
  enableCompileCache();
  const { startSession } = await import('../../tui/remote-session.ts');
  const live = startSession(job);
  try {
    const light = import('../../tui/background.ts').then(({ askBackground }) =>
      askBackground(process.stdin, process.stdout),
    );
    // Ink, React and the screens load while the worker reads. What takes longer is watched from inside.
    const [, { hasNothing, openTui }, background] = await Promise.all([
      Promise.race([live.complete, sleep(OPEN_AFTER_MS, undefined, { ref: false })]),
      import('../../tui/index.tsx'),
      light,
    ]);
    if (live.session.stage === 'complete' && hasNothing(live.session)) return undefined;
    await openTui(live, {
      command,
      ...(flags.color ? {} : { color: false }),
      ...(flags.ascii ? { ascii: true } : {}),
      ...(background === undefined ? {} : { light: background }),
    });
    if (live.session.stage === 'complete' && hasNothing(live.session)) return undefined;
  } finally {
    live.close();
  }
  const { session } = live;
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
