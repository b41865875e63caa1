import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Directories below which `**` looks no deeper: links can make circles. */
const MAX_DEPTH = 20;

export function isGlob(path: string): boolean {
  return /[*?[{]/.test(path);
}

/**
 * @returns the files a pattern names, sorted: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any depth. Shells expand
 * patterns themselves; this is for quoted ones and for shells that do not.
 */
export function globFiles(pattern: string): string[] {
  const found = new Set<string>();
  for (const plain of expandBraces(pattern)) {
    const segments = plain.split('/').filter((segment, i) => segment !== '' || i === 0);
    if (segments[0] === '') walk('/', segments.slice(1), 0, found);
    else walk('', segments, 0, found);
  }
  return [...found].sort();
}

function walk(folder: string, segments: readonly string[], depth: number, found: Set<string>): void {
  const [segment, ...rest] = segments;
  if (segment === undefined || depth > MAX_DEPTH) return;
  if (segment === '**') {
    walk(folder, rest.length > 0 ? rest : ['*'], depth, found);
    for (const name of names(folder)) {
      const path = join(folder, name);
      if (!name.startsWith('.') && isDirectory(path)) walk(path, segments, depth + 1, found);
    }
    return;
  }
  const matching = isGlob(segment) ? names(folder).filter(matcher(segment)) : [segment];
  for (const name of matching) {
    const path = folder === '' ? name : join(folder, name);
    if (rest.length > 0) {
      if (isDirectory(path)) walk(path, rest, depth + 1, found);
    } else if (statSync(path, { throwIfNoEntry: false })?.isFile()) found.add(path);
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder === '' ? '.' : folder);
  } catch {
    return [];
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** A leading dot must be named. */
function matcher(segment: string): (name: string) => boolean {
  const source = segment
    .replace(/[.+^$()|\\{}]/g, '\\$&')
    .replace(/\*/g, '[^/]*')
    .replace(/\?/g, '[^/]')
    .replace(/\[!/g, '[^');
  let pattern: RegExp;
  try {
    pattern = new RegExp(`^${source}$`, 'u');
  } catch {
    return (name) => name === segment;
  }
  return (name) => (segment.startsWith('.') || !name.startsWith('.')) && pattern.test(name);
}

function expandBraces(pattern: string): string[] {
  const match = /^(.*?)\{([^{}]*)\}(.*)$/.exec(pattern);
  if (!match) return [pattern];
  const [, before, inner, after] = match;
  return inner.split(',').flatMap((choice) => expandBraces(`${before}${choice}${after}`));
}
