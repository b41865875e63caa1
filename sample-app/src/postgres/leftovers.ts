import { execFileSync } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names of the temporary directories of clusters start with this. */
export const DIRECTORY_PREFIX = 'waitfall-pg-';
/** Holds the process id of the keeper that owns a directory. */
const OWNER_FILE = 'owner';

/** Writes into a cluster's directory that this process owns it. */
export async function claimDirectory(directory: string): Promise<void> {
  await writeFile(join(directory, OWNER_FILE), String(process.pid));
}

/**
 * Removes what keepers left that were killed together with their parents: a server that still runs in the
 * directory of a dead owner is stopped, and the directory goes. Others' directories are left alone.
 */
export async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(DIRECTORY_PREFIX)) continue;
    const directory = join(tmpdir(), name);
    const owner = await numberIn(join(directory, OWNER_FILE));
    if (owner === null || commandOf(owner)?.includes('keeper')) continue;
    const server = await numberIn(join(directory, 'data', 'postmaster.pid'));
    if (server !== null && commandOf(server)?.includes(directory)) process.kill(server, 'SIGQUIT');
    // Somebody else may be removing it too, or may own what only looks like ours.
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }).catch(() => {});
  }
}

/** @returns the number in the first line of a file, null where there is none. */
async function numberIn(path: string): Promise<number | null> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return Number(text.split('\n')[0]) || null;
}

/** @returns the command line of a process, null where it does not run. */
function commandOf(pid: number): string | null {
  try {
    return execFileSync('ps', ['-ww', '-o', 'args=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return null;
  }
}
