import { readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { globFiles, isGlob } from './glob.ts';

/** One file to read, or why a path given leads to none. */
export interface InputPath {
  readonly path: string;
  readonly fault: string | null;
}

/** Files of a run directory that hold no exports (design of a run directory: load.json is read). */
const NOT_EXPORTS =
  /^(?:\..*|(?:manifest|invariants|report[^/]*)\.json|resources\.jsonl|.*\.(?:md|html|txt|log|csv))$/;

/**
 * @returns the files behind paths, each once, in reading order: as given; in a directory by name; the files of one
 * rotation older first, wherever they stand.
 */
export function expandPaths(paths: readonly string[]): InputPath[] {
  const found: InputPath[] = [];
  for (const path of paths) found.push(...expand(path));
  return rotationOrder(once(found));
}

function expand(path: string): InputPath[] {
  try {
    return expandPath(path);
  } catch (error) {
    return [{ path, fault: `cannot be read: ${(error as Error).message}` }];
  }
}

function expandPath(path: string): InputPath[] {
  if (path === '-') return [{ path, fault: null }];
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) {
    if (!isGlob(path)) return [{ path, fault: 'cannot be read: no such file or directory' }];
    const files = globFiles(path);
    return files.length > 0
      ? files.map((file) => ({ path: file, fault: null }))
      : [{ path, fault: 'no file matches this pattern' }];
  }
  return stats.isDirectory() ? directory(path) : [{ path, fault: null }];
}

function directory(path: string): InputPath[] {
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  const files = entries
    .filter((entry) => !NOT_EXPORTS.test(entry.name))
    .map((entry) => join(path, entry.name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true);
  if (files.length > 0) return files.map((file) => ({ path: file, fault: null }));
  const inner = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const hint = inner.length > 0 ? `; it holds the directories ${inner.slice(0, 5).join(', ')}: name one` : '';
  return [{ path, fault: `no export in this directory${hint}` }];
}

/** The same file named twice, or met through a link, is read once. */
function once(items: readonly InputPath[]): InputPath[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const key = item.path === '-' || item.fault !== null ? item.path : identity(item.path);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** A pipe (`<(…)` of a shell) has no path of its own. */
function identity(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Files of one rotation take the places of the first of them, sorted older first; all others keep theirs. */
function rotationOrder(items: readonly InputPath[]): InputPath[] {
  const groups = new Map<string, { item: InputPath; age: string }[]>();
  for (const item of items) {
    const { base, age } = rotationOf(item.path);
    const group = groups.get(base);
    if (group === undefined) groups.set(base, [{ item, age }]);
    else group.push({ item, age });
  }
  return [...groups.values()].flatMap((group) =>
    group.sort((a, b) => (a.age < b.age ? -1 : a.age > b.age ? 1 : 0)).map((member) => member.item),
  );
}

const COMPRESSED = /\.(?:gz|zst|zstd)$/;
/** `traces-2026-11-30T12-00-00.000-size.jsonl`, as the collector's rotation names backups. */
const TIMESTAMPED = /^(.*)-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)(?:-[a-z]+)?(\.[^.]+)?$/;
/** `traces.jsonl.2`, as logrotate names them: the higher the older. */
const NUMBERED = /^(.*)\.(\d{1,5})$/;

/** @returns the name all files of a rotation share, and a text that sorts them older first. */
function rotationOf(path: string): { base: string; age: string } {
  const name = basename(path).replace(COMPRESSED, '');
  const folder = dirname(path);
  const timestamped = TIMESTAMPED.exec(name);
  if (timestamped)
    return { base: join(folder, timestamped[1] + (timestamped[3] ?? '')), age: `1 ${timestamped[2]}` };
  const numbered = NUMBERED.exec(name);
  if (numbered)
    return {
      base: join(folder, numbered[1]),
      age: `0 ${String(99_999 - Number(numbered[2])).padStart(5, '0')}`,
    };
  return { base: join(folder, name), age: '2' };
}
