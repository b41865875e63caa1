import { execFileSync } from 'node:child_process';

const POLL_MS = 500;

/**
 * Fulfilled when the user wants the command to end: by Ctrl-C, by a signal, or by ending the npm that started it.
 *
 * npm passes a signal on to its shell only, and a shell does not pass it on at all: whoever ends `npm run` from
 * outside leaves this process behind, which is seen by watching the chain of npm and shells above it.
 */
export function interruption(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve(signal));
    const starters = process.env['npm_lifecycle_event'] ? startersOf(process.pid) : [];
    if (starters.length === 0) return;
    setInterval(() => {
      if (!starters.every(isAlive)) resolve('npm ended');
    }, POLL_MS).unref();
  });
}

/** @returns the process ids of npm and its shells above a process, the nearest first. */
function startersOf(pid: number): number[] {
  const starters: number[] = [];
  for (let parent = inspect(pid)?.parent; parent !== undefined && parent > 1; ) {
    const about = inspect(parent);
    if (about === null || !/^npm |^sh -c |\/npm(-cli\.js)? /.test(about.command)) break;
    starters.push(parent);
    parent = about.parent;
  }
  return starters;
}

function inspect(pid: number): { readonly parent: number; readonly command: string } | null {
  try {
    const text = execFileSync('ps', ['-ww', '-o', 'ppid=,args=', '-p', String(pid)], { encoding: 'utf8' });
    const [, parent, command] = /^\s*(\d+)\s+(.*)$/m.exec(text) ?? [];
    return parent === undefined ? null : { parent: Number(parent), command: command ?? '' };
  } catch {
    // Without ps, signals are all there is.
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
