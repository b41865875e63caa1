import { readdirSync, readFileSync } from 'node:fs';

/** Length of one tick of the CPU times in /proc, ns: USER_HZ is 100 on every Linux that Node runs on. */
const TICK_NS = 10_000_000;

interface ProcessTimes {
  readonly parent: number;
  /** CPU time of the process, all threads, ns. */
  readonly ownNs: number;
  /** CPU time of its children that have ended and were waited for, ns. */
  readonly endedChildrenNs: number;
}

function timesOf(pid: number | string): ProcessTimes | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The name in parentheses may hold spaces; proc(5) numbers the fields from 1, the one after it is 3.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => Number(fields[number - 3]);
  return {
    parent: field(4),
    ownNs: (field(14) + field(15)) * TICK_NS,
    endedChildrenNs: (field(16) + field(17)) * TICK_NS,
  };
}

/**
 * @returns the CPU time used so far by a process and its children, in ns; null where it cannot be known
 * (the process is gone, or this is not Linux).
 */
export function cpuTimeNs(pid: number): number | null {
  const root = timesOf(pid);
  if (root === null) return null;
  let total = root.ownNs + root.endedChildrenNs;
  for (const entry of readdirSync('/proc')) {
    if (entry.charCodeAt(0) > 57) continue;
    const child = timesOf(entry);
    if (child?.parent === pid) total += child.ownNs;
  }
  return total;
}

/** @returns CPU time used so far by the whole machine, all cores, ns; null where it cannot be known. */
export function machineCpuTimeNs(): number | null {
  let text: string;
  try {
    text = readFileSync('/proc/stat', 'utf8');
  } catch {
    return null;
  }
  // user nice system idle iowait irq softirq steal; guest times are contained in user and nice.
  const fields = text.slice(0, text.indexOf('\n')).trim().split(/\s+/).slice(1, 9).map(Number);
  const [user, nice, system, , , irq, softirq, steal] = fields as number[];
  return (user! + nice! + system! + irq! + softirq! + steal!) * TICK_NS;
}

/**
 * @returns how long the main thread of a process stood ready to run without getting a core, in ns since its
 * start; null where the kernel does not tell.
 */
export function runDelayNs(pid: number | 'self'): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]);
  } catch {
    return null;
  }
}

/** CPU use of named processes over one interval, in cores (1 = one core fully busy). */
export interface CpuUse {
  readonly byName: Readonly<Record<string, number | null>>;
  /** Everything else on this machine. */
  readonly others: number | null;
}

/** Measures CPU use between its readings, for a fixed set of processes (each with its children). */
export class CpuMeter {
  readonly #pids: Readonly<Record<string, number>>;
  #last: CpuReading;

  constructor(pids: Readonly<Record<string, number>>) {
    this.#pids = pids;
    this.#last = takeReading(pids);
  }

  /** @returns the use since the previous reading, or since the start. */
  read(): CpuUse {
    const before = this.#last;
    const now = takeReading(this.#pids);
    this.#last = now;
    const elapsedNs = Number(now.atNs - before.atNs);
    const use = (a: number | null | undefined, b: number | null | undefined): number | null =>
      a == null || b == null || b < a || elapsedNs <= 0 ? null : (b - a) / elapsedNs;
    const byName: Record<string, number | null> = {};
    let known: number | null = 0;
    for (const name of Object.keys(this.#pids)) {
      const value = use(before.byName[name], now.byName[name]);
      byName[name] = value;
      known = known === null || value === null ? null : known + value;
    }
    const machine = use(before.machineNs, now.machineNs);
    const others = machine === null || known === null ? null : Math.max(0, machine - known);
    return { byName, others };
  }
}

interface CpuReading {
  readonly atNs: bigint;
  readonly byName: Readonly<Record<string, number | null>>;
  readonly machineNs: number | null;
}

function takeReading(pids: Readonly<Record<string, number>>): CpuReading {
  const byName = Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuTimeNs(pid)]));
  return { atNs: process.hrtime.bigint(), byName, machineNs: machineCpuTimeNs() };
}
