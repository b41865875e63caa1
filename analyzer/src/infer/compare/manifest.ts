/** One setting that differs between two runs. */
export interface Difference {
  /** `pool.size` */
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** Settings that name a run or a time, not a workload. */
const NAMES =
  /(^|\.)(name|variant|title|description|id|runId|startedAt|finishedAt|date|time|timestamp|hash|directory|dir|path|host|hostname|pid|port|url)$/i;

/** @returns settings that differ, by path; names and times of the runs are left out. null where a run has no manifest. */
export function manifestDifferences(before: unknown, after: unknown): Difference[] | null {
  if (!isRecord(before) || !isRecord(after)) return null;
  const a = flatten(before);
  const b = flatten(after);
  return [...new Set([...a.keys(), ...b.keys()])]
    .filter((path) => !NAMES.test(path) && a.get(path) !== b.get(path))
    .sort()
    .map((path) => ({ path, before: a.get(path) ?? null, after: b.get(path) ?? null }));
}

function flatten(value: unknown, path = '', out = new Map<string, string>()): Map<string, string> {
  if (isRecord(value)) {
    for (const [key, inner] of Object.entries(value))
      flatten(inner, path === '' ? key : `${path}.${key}`, out);
  } else if (Array.isArray(value) && value.some((item) => typeof item === 'object' && item !== null)) {
    for (const [i, inner] of value.entries()) flatten(inner, `${path}[${i}]`, out);
  } else out.set(path, typeof value === 'string' ? value : stringify(value));
  return out;
}

function stringify(value: unknown): string {
  return JSON.stringify(value, (_key, v) => (typeof v === 'bigint' ? v.toString() : v)) ?? 'undefined';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
