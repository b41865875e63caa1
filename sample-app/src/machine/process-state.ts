import { readdirSync, readFileSync } from 'node:fs';

/** State of one process at one moment; null where it cannot be known. */
export interface ProcessState {
  readonly atMs: number;
  readonly threads: number | null;
  readonly memoryBytes: number | null;
  /** Context switches of all its threads since they started. */
  readonly contextSwitches: number | null;
}

/** Reads what /proc tells about a process. */
export function processState(pid: number): ProcessState {
  const atMs = performance.now();
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    let contextSwitches = 0;
    for (const thread of threads) {
      const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
      for (const [, count] of status.matchAll(/voluntary_ctxt_switches:\s+(\d+)/g))
        contextSwitches += Number(count);
    }
    const memory = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return {
      atMs,
      threads: threads.length,
      memoryBytes: memory ? Number(memory[1]) * 1024 : null,
      contextSwitches,
    };
  } catch {
    return { atMs, threads: null, memoryBytes: null, contextSwitches: null };
  }
}
