import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** How long a process may take to end after SIGTERM before it is killed. */
const GRACE_MS = 6_000;

export interface ChildOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Node options, before the file. */
  readonly nodeOptions?: readonly string[];
  /** What it reads from its standard input; default: nothing. */
  readonly input?: string;
}

/** The processes of a run. All of them end with this process, whatever ends it: they watch their channel to it. */
export class Children {
  readonly #running = new Map<ChildProcess, string>();

  /** Starts a file of this package as a Node process. @returns the process and its first message. */
  async start<Ready>(
    name: string,
    file: URL,
    options: ChildOptions = {},
  ): Promise<{ child: ChildProcess; ready: Ready }> {
    const child = this.spawn(name, file, options);
    const ready = await new Promise<Ready>((resolve, reject) => {
      child.once('message', (message) => resolve(message as Ready));
      child.once('exit', (code, signal) =>
        reject(new Error(`${name} ended at its start (${signal ?? code})`)),
      );
    });
    return { child, ready };
  }

  /** Starts a file of this package as a Node process. */
  spawn(name: string, file: URL, options: ChildOptions = {}): ChildProcess {
    const child = fork(fileURLToPath(file), [...(options.args ?? [])], {
      env: { ...process.env, ...options.env },
      execArgv: [...process.execArgv, ...(options.nodeOptions ?? [])],
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'inherit', 'inherit', 'ipc'],
    });
    child.stdin?.end(options.input);
    this.#running.set(child, name);
    child.once('exit', () => this.#running.delete(child));
    return child;
  }

  /** Asks a process to end, and kills it where it does not. */
  async stop(child: ChildProcess): Promise<void> {
    if (!this.#running.has(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const inTime = await Promise.race([ended.then(() => true), sleep(GRACE_MS, false, { ref: false })]);
    if (inTime) return;
    console.error(`${this.#running.get(child)} did not end within ${GRACE_MS / 1000} s and is killed`);
    child.kill('SIGKILL');
    await ended;
  }

  /** Ends what was started last first: those who ask before those who answer. */
  async stopAll(): Promise<void> {
    for (const child of [...this.#running.keys()].reverse()) await this.stop(child);
  }
}
