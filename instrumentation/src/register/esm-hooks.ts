import * as nodeModule from 'node:module';
import { pathToFileURL } from 'node:url';

/**
 * Packages whose ES module imports are intercepted. Always a list: hooking every module breaks bundled
 * output and costs start-up time.
 */
export const HOOKED_MODULES = [
  'express',
  'pg',
  'pg-pool',
  'http',
  'https',
  'node:http',
  'node:https',
  'http2',
  'node:http2',
  'undici',
  'koa',
  'fastify',
  'tarn',
  'knex',
  'sequelize-pool',
  'generic-pool',
  'mysql2',
  'ioredis',
  'postgres',
];

/**
 * Lets instrumentations see `import`ed modules, not only `require`d ones. Uses the copy of
 * import-in-the-middle that `@opentelemetry/instrumentation` uses: hooks of another copy stay silent.
 */
export function registerEsmHooks(): void {
  const own = nodeModule.createRequire(import.meta.url);
  const base = nodeModule.createRequire(own.resolve('@opentelemetry/instrumentation'));
  const { supportsSyncHooks } = base('import-in-the-middle/supports-sync-hooks.mjs');
  if (supportsSyncHooks()) {
    base('import-in-the-middle/register-hooks.mjs').register({ include: HOOKED_MODULES });
    return;
  }
  const parent = pathToFileURL(base.resolve('import-in-the-middle'));
  nodeModule.register('import-in-the-middle/hook.mjs', parent, { data: { include: HOOKED_MODULES } });
}
