import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

/** Compares a text with golden/<name>; `UPDATE_GOLDEN=1 npm run test:unit -- report` writes it anew. */
export function golden(name: string, actual: string): void {
  const file = new URL(`./golden/${name}`, import.meta.url);
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(new URL('./golden/', import.meta.url), { recursive: true });
    writeFileSync(file, actual);
  }
  assert.equal(actual, readFileSync(file, 'utf8'));
}
