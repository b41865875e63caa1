import { createRequire } from 'node:module';
import { warnOnce } from '../core/warn.ts';
import { patchedModules } from '../instrumentation.ts';

/** Long enough for a service to have loaded what it uses. */
const CHECK_AFTER_MS = 15_000;
const KNOWN = [
  'pg',
  'pg-pool',
  'express',
  'tarn',
  'sequelize-pool',
  'generic-pool',
  'mysql2',
  'ioredis',
  'postgres',
];

/**
 * Looks once, after start-up, whether anything was patched: a set-up that looks right and records nothing is
 * the worst kind.
 */
export function checkLater(): void {
  setTimeout(check, CHECK_AFTER_MS).unref();
}

/** @returns what was said, for tests. */
export function check(
  loaded: readonly string[] = Object.keys(createRequire(import.meta.url).cache),
): string | null {
  const found = KNOWN.filter((name) => loaded.some((path) => path.includes(`/node_modules/${name}/`)));
  const patched = patchedModules();
  const missed = found.filter((name) => name !== 'express' && !patched.has(name));
  let message: string | null = null;
  if (missed.length > 0) {
    message =
      `${missed.join(', ')} was loaded but could not be patched: was it loaded before this package? ` +
      'Start with node --import @waitfall/instrumentation/register';
  } else if (found.length === 0) {
    message =
      'none of the libraries this package instruments was loaded: in a bundle they cannot be patched, ' +
      'keep pg and express external';
  }
  if (message !== null) warnOnce('self-check', message);
  return message;
}
