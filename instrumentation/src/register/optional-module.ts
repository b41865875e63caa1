import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

// biome-ignore lint/suspicious/noExplicitAny: optional peers have no types here; every use is guarded
export type Loaded = any;

/** Where optional packages are looked for: beside the service, then beside this package. */
function bases(): string[] {
  const list = [join(process.cwd(), 'noop.js')];
  if (process.argv[1] !== undefined) list.push(join(dirname(resolve(process.argv[1])), 'noop.js'));
  list.push(import.meta.filename);
  return list;
}

/**
 * Loads a package that may be missing. The service's own copy comes first; `via` names a package whose
 * dependency it is (strict layouts do not hoist it).
 *
 * @returns its exports, or undefined where it is not installed.
 */
export function loadOptional(name: string, via?: string): Loaded | undefined {
  for (const base of bases()) {
    const require = createRequire(base);
    try {
      return require(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
    if (via === undefined) continue;
    try {
      return createRequire(require.resolve(via))(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  return undefined;
}
