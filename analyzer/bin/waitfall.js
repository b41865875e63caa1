#!/usr/bin/env node
// Committed so that npm can link the command before the first build; the program itself is dist/main.js.
import { existsSync } from 'node:fs';

const build = new URL('../dist/main.js', import.meta.url);
if (existsSync(build)) {
  await import(build.href);
} else {
  console.error('waitfall: not built yet; run `npm run build` in the repository (npm ci does it too)');
  process.exitCode = 2;
}
