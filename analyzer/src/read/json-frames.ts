/** Lists that may be read in parts, and the member that must stand before them for the parts to be complete. */
export const LISTS = new Map<string, readonly string[]>([
  ...['resourceSpans', 'resource_spans', 'resourceMetrics', 'resource_metrics'].map(standsAlone),
  ...['resourceLogs', 'resource_logs', 'batches', 'data', 'result', 'traces'].map(standsAlone),
  ...['scopeSpans', 'scope_spans', 'scopeMetrics', 'scope_metrics', 'scopeLogs', 'scope_logs'].map(
    needsResource,
  ),
  ...['instrumentationLibrarySpans', 'instrumentation_library_spans'].map(needsResource),
  // A Jaeger trace may name its processes behind its spans.
  ['spans', ['scope', 'instrumentationLibrary', 'instrumentation_library', 'processes', 'traceID']],
  ['metrics', ['scope']],
  ['logRecords', ['scope']],
]);

function standsAlone(key: string): [string, readonly string[]] {
  return [key, []];
}

function needsResource(key: string): [string, readonly string[]] {
  return [key, ['resource']];
}

/** One open object or list. Positions count from the first byte of the value. */
export interface Frame {
  readonly list: boolean;
  /** The member's name, for a list inside an object. */
  readonly key: string;
  /** After the opening bracket. */
  contentStart: number;
  /** After the last complete element or member, and after the comma behind it; 0 when there is none. */
  elementEnd: number;
  commaEnd: number;
  /** Names of members begun so far; kept for the outer levels only. */
  readonly keys: string[];
  /** Contents of finished lists among the members: already read once something after them was split off. */
  readonly spent: { from: number; to: number }[];
}

/** Where a value can be read in part; positions count from its first byte. */
export interface Split {
  readonly end: number;
  readonly closers: string;
  readonly spent: readonly (readonly [from: number, to: number])[];
}

/** Whether frames[depth] is a list that may be read in parts: what its elements need has come before it. */
export function isSplittable(frames: readonly Frame[], depth: number): boolean {
  const frame = frames[depth];
  if (!frame.list) return false;
  const parent = frames[depth - 1];
  if (parent === undefined) return true;
  if (parent.list) return depth === 1;
  const needs = LISTS.get(frame.key);
  return needs !== undefined && (needs.length === 0 || needs.some((key) => parent.keys.includes(key)));
}

/** Whether frames[depth] is a list whose elements stand for themselves, so that the complete ones of it can be kept. */
export function isListOfRecords(frames: readonly Frame[], depth: number): boolean {
  const frame = frames[depth];
  return frame.list && (depth === 0 || (frames[depth - 1].list ? depth === 1 : LISTS.has(frame.key)));
}

/** @returns what closes frames[depth] and all around it. */
export function closersOf(frames: readonly Frame[], depth: number): string {
  let text = '';
  for (let i = depth; i >= 0; i--) text += frames[i].list ? ']' : '}';
  return text;
}
