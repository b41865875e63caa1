import { execFileSync } from 'node:child_process';

/** A user of the operating system, by number. */
export interface OsUser {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root; these exist on nearly every machine, the first found is taken. */
const UNPRIVILEGED = ['postgres', 'nobody'];

/** @returns the user that must run PostgreSQL, or null where the present one may. */
export function serverUser(): OsUser | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of UNPRIVILEGED) {
    const uid = numberOf('-u', name);
    const gid = numberOf('-g', name);
    if (uid !== null && gid !== null && uid !== 0) return { uid, gid };
  }
  throw new Error(
    `PostgreSQL does not run as root, and none of the users ${UNPRIVILEGED.join(', ')} exists. Run as a normal user, or set DATABASE_URL.`,
  );
}

function numberOf(flag: '-u' | '-g', name: string): number | null {
  try {
    return Number(
      execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
  } catch {
    return null;
  }
}
