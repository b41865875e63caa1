import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** @returns what `--import` loads to instrument a service. */
export function registerModule(): string {
  const url = import.meta.resolve('@waitfall/instrumentation/register');
  if (existsSync(fileURLToPath(url))) return url;
  throw new Error(
    `the instrumentation is not built (${fileURLToPath(url)} is missing): run npm ci or npm run build`,
  );
}
