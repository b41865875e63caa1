import { mkdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { Children } from './children.ts';
import { interruption } from './interruption.ts';
import { workingDirectory } from './working-directory.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const EXIT_INTERRUPTED = 130;

const startedMs = Date.now();

/** Thrown for a command line that makes no sense; the message says what to change. */
export class UsageError extends Error {}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** @returns seconds since the command was started. */
export function elapsedSeconds(): number {
  return (Date.now() - startedMs) / 1000;
}

/** Says something with the seconds since the start before it. */
export function sayWithTime(text: string): void {
  say(`[${elapsedSeconds().toFixed(0).padStart(3)} s] ${text}`);
}

/** @returns the directory as the user would write it. */
export function shown(directory: string): string {
  return relative(workingDirectory, directory) || '.';
}

/** Makes an empty directory for one run, of its own even when two start in the same second. @returns its path. */
export async function makeRunDirectory(runs: string, name: string): Promise<string> {
  const parent = resolve(workingDirectory, runs);
  await mkdir(parent, { recursive: true });
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  for (let count = 1; ; count++) {
    const directory = join(parent, count === 1 ? `${stamp}-${name}` : `${stamp}.${count}-${name}`);
    try {
      await mkdir(directory);
      return directory;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** What a command has started and must end. */
export interface Running {
  readonly children: Children;
  /** Called in reverse order when the command ends, however it ends. */
  onEnd(close: () => Promise<unknown>): void;
}

/**
 * Runs a command to its end and ends the process with its exit code: 0 where `work` says true, 1 where it says
 * false or fails, 2 for a wrong command line, 130 where the user interrupted it. All that was started is stopped.
 */
export async function runCommand(work: (running: Running) => Promise<boolean>): Promise<never> {
  try {
    process.exit(await runAndStop(work));
  } catch (error) {
    const usage = error instanceof UsageError;
    process.stderr.write(`${usage ? error.message : (error as Error).stack}\n`);
    process.exit(usage ? EXIT_USAGE : EXIT_FAILED);
  }
}

async function runAndStop(work: (running: Running) => Promise<boolean>): Promise<number> {
  const children = new Children();
  const closing: (() => Promise<unknown>)[] = [];
  const interrupted = interruption();
  const done = work({ children, onEnd: (close) => closing.unshift(close) });
  // Work that is given up fails in its own time; nobody waits for it any more.
  done.catch(() => {});
  try {
    const end = await Promise.race([done, interrupted]);
    if (typeof end === 'boolean') return end ? 0 : EXIT_FAILED;
    say(`\n${end}: stopping what was started`);
    return EXIT_INTERRUPTED;
  } finally {
    await children.stopAll();
    for (const close of closing) await close();
  }
}
