import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ATTR_ESTIMATE_MAX_NS,
  ATTR_ESTIMATE_MIN_NS,
  ATTR_ESTIMATED,
  RESOURCE_CPU_QUOTA,
} from '../conventions.ts';
import { durationNs, now } from '../core/clock.ts';
import { pauseLog } from './pauses.ts';

/** The usual period of a CPU quota. */
const PERIOD_MS = 100;
/** A timer that fires this late says that the process stood still, or was busy. */
const MIN_STALL_MS = 10;

/** Where a control group says how long it was kept from running. */
export interface QuotaFile {
  readonly path: string;
  /** `throttled_usec` (version 2), `throttled_time` in ns (version 1). */
  readonly field: string;
  readonly msPerUnit: number;
}

/**
 * @returns the file of this process's control group, or undefined where it has no CPU quota.
 * https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files
 */
export function findQuota(root = '/sys/fs/cgroup', membership = '/proc/self/cgroup'): QuotaFile | undefined {
  let lines: string[];
  try {
    lines = readFileSync(membership, 'utf8').split('\n');
  } catch {
    return undefined;
  }
  for (const line of lines) {
    const [, controllers = '', path = ''] = line.split(':');
    if (controllers === '') {
      for (const directory of [join(root, path), root]) {
        const limit = textOf(join(directory, 'cpu.max'));
        if (limit === undefined || limit.startsWith('max')) continue;
        return { path: join(directory, 'cpu.stat'), field: 'throttled_usec', msPerUnit: 1e-3 };
      }
    } else if (controllers.split(',').includes('cpu')) {
      for (const directory of [join(root, controllers, path), join(root, controllers), join(root, 'cpu')]) {
        const quota = Number(textOf(join(directory, 'cpu.cfs_quota_us')));
        if (!(quota > 0)) continue;
        return { path: join(directory, 'cpu.stat'), field: 'throttled_time', msPerUnit: 1e-6 };
      }
    }
  }
  return undefined;
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** @returns how long the group was kept from running so far, ms, summed over its CPUs. */
export function throttledMs({ path, field, msPerUnit }: QuotaFile): number | undefined {
  const line = textOf(path)
    ?.split('\n')
    .find((one) => one.startsWith(`${field} `));
  return line === undefined ? undefined : Number(line.slice(field.length + 1)) * msPerUnit;
}

let timer: NodeJS.Timeout | undefined;

/**
 * Reports when the process was kept from running because its quota was used up. The kernel says only how long,
 * not when: a stall of the event loop in which that number grew is a pause of at most that length, an estimate.
 * Only where there is a quota; the statistics are read when a timer was late, not otherwise.
 *
 * @returns whether there is a quota to watch.
 */
export function watchCpuQuota(quota: QuotaFile | undefined = findQuota()): boolean {
  if (timer !== undefined || quota === undefined) return false;
  let knownMs = throttledMs(quota);
  if (knownMs === undefined) return false;
  pauseLog.open();
  let dueMs = now() + PERIOD_MS;
  timer = setInterval(() => {
    const atMs = now();
    const stallMs = atMs - dueMs;
    dueMs = atMs + PERIOD_MS;
    if (stallMs < MIN_STALL_MS) return;
    const totalMs = throttledMs(quota);
    if (totalMs === undefined || knownMs === undefined) return;
    const grewMs = totalMs - knownMs;
    knownMs = totalMs;
    const lengthMs = Math.min(grewMs, stallMs);
    if (lengthMs <= 0) return;
    pauseLog.add({
      startMs: atMs - lengthMs,
      endMs: atMs,
      resource: RESOURCE_CPU_QUOTA,
      cause: 'cpu_throttling',
      attributes: {
        [ATTR_ESTIMATED]: true,
        [ATTR_ESTIMATE_MIN_NS]: 0,
        [ATTR_ESTIMATE_MAX_NS]: durationNs(0, lengthMs),
      },
    });
  }, PERIOD_MS).unref();
  return true;
}

export function stopWatchingCpuQuota(): void {
  if (timer === undefined) return;
  clearInterval(timer);
  timer = undefined;
  pauseLog.close();
}
