import type { Profiler } from 'node:inspector';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** When each sample was taken, µs of the profiler's clock, and in which function. */
export interface Samples {
  readonly timesUs: Float64Array;
  /** Name and place of the function that ran; one text object for each. */
  readonly functions: readonly string[];
}

/** @returns the samples of a profile: its nodes resolved to functions, its deltas to times. */
export function samplesOf(profile: Profiler.Profile): Samples {
  const parents = new Map<number, number>();
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  for (const node of profile.nodes) for (const child of node.children ?? []) parents.set(child, node.id);
  const names = new Map<number, string>();
  const nameOf = (id: number): string => {
    let name = names.get(id);
    if (name === undefined) {
      name = describe(id, byId, parents);
      names.set(id, name);
    }
    return name;
  };
  const samples = profile.samples ?? [];
  const deltas = profile.timeDeltas ?? [];
  const timesUs = new Float64Array(samples.length);
  let atUs = profile.startTime;
  for (let at = 0; at < samples.length; at++) {
    atUs += deltas[at] ?? 0;
    timesUs[at] = atUs;
  }
  return { timesUs, functions: samples.map(nameOf) };
}

/** A function of the service is named with its file; one of Node or V8 with the caller it ran for. */
function describe(
  id: number,
  byId: ReadonlyMap<number, Profiler.ProfileNode>,
  parents: ReadonlyMap<number, number>,
): string {
  const frame = byId.get(id)?.callFrame;
  if (frame === undefined) return '(unknown)';
  const own = frame.functionName || '(anonymous)';
  if (own.startsWith('(') && own !== '(anonymous)') return own;
  for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
    const caller = byId.get(at)?.callFrame;
    if (caller === undefined || !caller.url.startsWith('file:')) continue;
    const place = `${placeOf(caller.url)}:${caller.lineNumber + 1}`;
    const name = caller.functionName || '(anonymous)';
    return at === id ? `${name} ${place}` : `${own} in ${name} ${place}`;
  }
  return own;
}

function placeOf(url: string): string {
  try {
    const path = fileURLToPath(url);
    const fromHere = relative(process.cwd(), path);
    return fromHere.startsWith('..') ? path : fromHere;
  } catch {
    return url;
  }
}

/** Fewer samples say nothing about a slice. */
const MIN_SAMPLES = 2;
const MAX_FUNCTIONS = 3;
const MIN_SHARE = 0.05;

/**
 * @returns the functions that used the most CPU time between two moments, widest first, each as
 * `share name file:line`; undefined where there are too few samples to say.
 */
export function widestFunctions(samples: Samples, fromUs: number, toUs: number): string[] | undefined {
  const { timesUs, functions } = samples;
  const counts = new Map<string, number>();
  let total = 0;
  for (let at = firstNotBefore(timesUs, fromUs); at < timesUs.length && timesUs[at] <= toUs; at++) {
    counts.set(functions[at], (counts.get(functions[at]) ?? 0) + 1);
    total++;
  }
  if (total < MIN_SAMPLES) return undefined;
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .filter(([, count]) => count / total >= MIN_SHARE)
    .slice(0, MAX_FUNCTIONS)
    .map(([name, count]) => `${(count / total).toFixed(2)} ${name}`);
}

function firstNotBefore(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
