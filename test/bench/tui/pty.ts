import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Ends every frame Ink writes to a terminal (end of synchronized output). */
const FRAME_END = '\u001b[?2026l';
/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

export interface KeyCost {
  readonly latencyMs: number;
  readonly bytes: number;
}

/** A command in a pseudo terminal of `script` (util-linux), so that neither a native module nor tmux is measured too. */
export class Pty {
  readonly #child: ChildProcessWithoutNullStreams;
  #out = '';
  #bytes = 0;

  constructor(command: string, columns: number, rows: number) {
    const line = `stty cols ${columns} rows ${rows}; exec ${command}`;
    this.#child = spawn('script', ['-qefc', line, '/dev/null'], {
      env: { ...process.env, TERM: 'xterm-256color', LANG: 'C.UTF-8', CI: '', NO_COLOR: '' },
    });
    this.#child.stdout.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      this.#out = (this.#out + chunk.toString('latin1')).slice(-400_000);
    });
  }

  /** Waits until a text has been written; throws when it does not come. @returns ms waited. */
  async until(text: string, limitMs = 120_000): Promise<number> {
    const from = performance.now();
    while (!this.#out.includes(text)) {
      if (performance.now() - from > limitMs)
        throw new Error(`no ${JSON.stringify(text)} within ${limitMs} ms`);
      await sleep(1);
    }
    return performance.now() - from;
  }

  /** Presses a key and waits for the end of the frame it causes. */
  async press(key: string): Promise<KeyCost> {
    this.#out = '';
    const before = this.#bytes;
    const from = performance.now();
    this.#child.stdin.write(key);
    const seen = new Promise<void>((resolve) => {
      const look = (): void => {
        if (!this.#out.includes(FRAME_END)) return;
        this.#child.stdout.off('data', look);
        resolve();
      };
      this.#child.stdout.on('data', look);
    });
    await Promise.race([seen, sleep(5000)]);
    return { latencyMs: performance.now() - from, bytes: this.#bytes - before };
  }

  /** @returns CPU ms of the command and its threads so far, from /proc. */
  cpuMs(): number {
    const fields = readFileSync(`/proc/${this.pid()}/stat`, 'latin1').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  }

  /** @returns resident memory in MB. */
  memoryMb(): number {
    const status = readFileSync(`/proc/${this.pid()}/status`, 'latin1');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1000;
  }

  /** `script` starts a shell that becomes the command. */
  pid(): number {
    const children = readFileSync(`/proc/${this.#child.pid}/task/${this.#child.pid}/children`, 'latin1');
    return Number(children.trim().split(' ')[0]);
  }

  async close(): Promise<void> {
    this.#child.stdin.write('q');
    await Promise.race([new Promise((resolve) => this.#child.once('exit', resolve)), sleep(3000)]);
    this.#child.kill('SIGKILL');
  }
}
