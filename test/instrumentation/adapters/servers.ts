import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../sample-app/src/postgres/free-port.ts';

/** A server of a test's own, on its own port, in its own directory. */
export interface TestServer {
  readonly port: number;
  close(): Promise<void>;
}

/** @returns the path of an installed program, or undefined. */
export function installed(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** @returns why tests of a server are skipped, or false where they can run. */
export function missing(...programs: string[]): string | false {
  return programs.some((name) => installed(name) !== undefined)
    ? false
    : `${programs.join(' / ')} is not installed here (apt-get install ${PACKAGES[programs[0]]})`;
}

const PACKAGES: Record<string, string> = {
  'redis-server': 'redis-server',
  mariadbd: 'mariadb-server',
  pgbouncer: 'pgbouncer',
};

/** Starts Redis without persistence. @param flags more of its settings. */
export async function startRedis(...more: string[]): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'waitfall-redis-'));
  const port = await freePort();
  const flags = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', directory, ...more];
  const child = spawn(installed('redis-server') as string, flags, { stdio: 'ignore' });
  return running(child, port, directory);
}

/** Starts MariaDB with an empty data directory, user root without password. */
export async function startMariadb(): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'waitfall-mariadb-'));
  await chmod(directory, 0o777);
  const user = userInfo().username;
  const data = `--datadir=${join(directory, 'data')}`;
  const install = spawnSync(
    installed('mariadb-install-db') as string,
    [data, `--user=${user}`, '--auth-root-authentication-method=normal', '--skip-test-db'],
    { encoding: 'utf8' },
  );
  if (install.status !== 0) throw new Error(`mariadb-install-db: ${install.stderr}${install.stdout}`);
  const port = await freePort();
  const child = spawn(
    installed('mariadbd') as string,
    [
      '--no-defaults',
      data,
      `--user=${user}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(directory, 'socket')}`,
      `--pid-file=${join(directory, 'pid')}`,
      '--innodb-buffer-pool-size=8M',
    ],
    { stdio: 'ignore' },
  );
  return running(child, port, directory);
}

/** Waits until a server takes connections; it ends with this process at the latest. */
export async function running(child: ChildProcess, port: number, directory: string): Promise<TestServer> {
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  for (let tries = 0; ; tries++) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    if (await accepts(port)) break;
    if (tries > 400) throw new Error(`nothing listens on port ${port}`);
    await sleep(25);
  }
  return {
    port,
    async close() {
      process.removeListener('exit', kill);
      const ended = new Promise((resolve) => child.once('exit', resolve));
      kill();
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  });
}
