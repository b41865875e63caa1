#!/usr/bin/env node
// Committed so that npm can link the command before the first build; the program itself is dist/main.js.
import { existsSync } from 'node:fs';

const build = new URL('../dist/main.js', import.meta.url);
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 15)) {
  console.error(`waitfall needs Node 22.15 or newer; this is Node ${process.versions.node}`);
  process.exitCode = 2;
} else if (existsSync(build)) {
  await import(build.href);
} else {
  console.error('waitfall: not built yet; run `npm run build` in the repository (npm ci does it too)');
  process.exitCode = 2;
}
