import { dirname, posix } from 'node:path';

/** Source files by path from the root of the repository, `/` between folders. */
export type Sources = ReadonlyMap<string, string>;

export interface Import {
  /** As written: `../model/span.ts`, `express`. */
  readonly target: string;
  /** Erased when the file runs. */
  readonly typeOnly: boolean;
}

const STATIC = /^(?:import|export)\s(type\s)?(?:[^;'"]*?\sfrom\s)?['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]/g;

/** @returns what a file imports, statically and dynamically. */
export function importsOf(text: string): Import[] {
  return [
    ...[...text.matchAll(STATIC)].map((match) => ({ target: match[2], typeOnly: match[1] !== undefined })),
    ...[...text.matchAll(DYNAMIC)].map((match) => ({ target: match[1], typeOnly: false })),
  ];
}

/** Files and folders of one package in the order data flows: each imports from its own layer and those before it. */
export interface Layers {
  readonly base: string;
  /** Paths below `base`, a folder or a file each; the longest that fits a file says its layer. */
  readonly layers: readonly (readonly string[])[];
  /** Types may point back: they are erased. */
  readonly typesToo: boolean;
}

/** @returns every import against the direction, and every file that is in no layer. */
export function againstDirection(sources: Sources, { base, layers, typesToo }: Layers): string[] {
  const wrong: string[] = [];
  for (const [file, text] of sources) {
    if (!file.startsWith(`${base}/`)) continue;
    const own = layerOf(file, base, layers);
    if (own < 0) wrong.push(`${file} is in no layer`);
    for (const { target, typeOnly } of importsOf(text)) {
      if (!target.startsWith('.') || (typeOnly && !typesToo)) continue;
      const path = resolved(file, target);
      if (!path.startsWith(`${base}/`)) wrong.push(`${file} -> ${target} leaves the package`);
      else if (layerOf(path, base, layers) > own) wrong.push(`${file} -> ${target}`);
    }
  }
  return wrong;
}

/** @returns circles of files that import each other by value: which of them runs first depends on who asks. */
export function circles(sources: Sources): string[] {
  const found: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const path: string[] = [];
  const visit = (file: string): void => {
    state.set(file, 'open');
    path.push(file);
    for (const { target, typeOnly } of importsOf(sources.get(file) ?? '')) {
      if (typeOnly || !target.startsWith('.')) continue;
      const next = resolved(file, target);
      if (state.get(next) === 'open') found.push([...path.slice(path.indexOf(next)), next].join(' -> '));
      else if (!state.has(next) && sources.has(next)) visit(next);
    }
    path.pop();
    state.set(file, 'done');
  };
  for (const file of sources.keys()) if (!state.has(file)) visit(file);
  return found;
}

function layerOf(file: string, base: string, layers: readonly (readonly string[])[]): number {
  let best = -1;
  let longest = -1;
  layers.forEach((parts, i) => {
    for (const part of parts) {
      const whole = `${base}/${part}`;
      if ((file === whole || file.startsWith(`${whole}/`)) && part.length > longest) {
        best = i;
        longest = part.length;
      }
    }
  });
  return best;
}

function resolved(file: string, target: string): string {
  return posix.normalize(posix.join(dirname(file), target));
}
