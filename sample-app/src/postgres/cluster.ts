import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Binaries, copyBinaries, findBinaries } from './binaries.ts';
import { freePort } from './free-port.ts';
import { claimDirectory, DIRECTORY_PREFIX } from './leftovers.ts';
import { serverUser } from './os-user.ts';

/** Server settings by name, as in postgresql.conf. */
export type Settings = Readonly<Record<string, string>>;

/** How often a start is tried again when somebody took the port between the probe and the bind. */
const PORT_ATTEMPTS = 5;
/**
 * How a server is asked to stop, and how long it gets: "smart" lets connections that are just closing go in peace, "fast"
 * cuts those that stay, "immediate" does not write the data any more, which is thrown away in any case.
 */
const STOP_STEPS = [
  ['SIGTERM', 1_000],
  ['SIGINT', 5_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
] as const;

/** One PostgreSQL server with its own data in a temporary directory, owned by the process that creates it. */
export class Cluster {
  readonly directory: string;
  readonly #children = new Set<ChildProcess>();
  #server: ChildProcess | null = null;
  #stopped: Promise<void> | null = null;

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** Creates the temporary directory; nothing runs yet, and `stop` already removes it. */
  static async create(): Promise<Cluster> {
    const directory = await mkdtemp(join(tmpdir(), DIRECTORY_PREFIX));
    await claimDirectory(directory);
    return new Cluster(directory);
  }

  /** Process id of the server, null while it does not run. */
  get pid(): number | null {
    return this.#server?.pid ?? null;
  }

  /** @returns the URL of the running server, which listens on a free port of the loopback interface only. */
  async start(settings: Settings): Promise<string> {
    const user = serverUser();
    const data = join(this.directory, 'data');
    const password = randomBytes(12).toString('hex');
    const passwordFile = join(this.directory, 'password');
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    await chmod(this.directory, 0o700);
    if (user) {
      await chown(this.directory, user.uid, user.gid);
      await chown(passwordFile, user.uid, user.gid);
    }
    let binaries = await findBinaries();
    const options = {
      cwd: this.directory,
      env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
      ...(user ?? {}),
    };
    const readable = spawnSync(binaries.postgres, ['--version'], { ...options, stdio: 'ignore' });
    if (readable.status !== 0) binaries = await copyBinaries(binaries, this.directory);

    await this.#initialise(binaries, data, passwordFile, options);
    await rm(passwordFile);
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      const problem = await this.#listen(binaries, data, port, settings, options);
      if (problem === null) return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
      if (attempt === PORT_ATTEMPTS || !problem.includes('could not bind')) {
        throw new Error(`PostgreSQL did not start:\n${problem}`);
      }
    }
  }

  async #initialise(binaries: Binaries, data: string, passwordFile: string, options: object): Promise<void> {
    const child = this.#spawn(
      binaries.initdb,
      [
        `--pgdata=${data}`,
        '--username=postgres',
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
        '--no-sync',
      ],
      options,
    );
    let output = '';
    child.stderr?.on('data', (chunk) => {
      output += chunk;
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`initdb failed with exit code ${code}:\n${output}`);
  }

  /** @returns null once the server accepts connections, else what it printed before it ended. */
  async #listen(
    binaries: Binaries,
    data: string,
    port: number,
    settings: Settings,
    options: object,
  ): Promise<string | null> {
    const all: Settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...settings };
    const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = this.#spawn(binaries.postgres, ['-D', data, '-p', String(port), ...flags], options);
    this.#server = child;
    return new Promise((resolve) => {
      let output = '';
      child.stderr?.on('data', (chunk) => {
        if (output === '#ready') return;
        output += chunk;
        if (output.includes('ready to accept connections')) {
          output = '#ready';
          resolve(null);
        }
      });
      child.once('close', () => resolve(output));
    });
  }

  #spawn(command: string, args: string[], options: object): ChildProcess {
    if (this.#stopped) throw new Error('the cluster is being stopped');
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], ...options });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  /** Ends everything this cluster started and removes its directory; safe to call at any moment and twice. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    for (const child of this.#children) {
      const ended = once(child, 'exit');
      for (const [signal, graceMs] of STOP_STEPS) {
        child.kill(signal);
        if (await Promise.race([ended.then(() => true), sleep(graceMs, false, { ref: false })])) break;
      }
    }
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}
