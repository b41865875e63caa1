import { readFile } from 'node:fs/promises';

/** @returns what an example says about itself: its first line. */
export async function sayingOf(name: string): Promise<string> {
  const text = await readFile(new URL(`${name}.mjs`, import.meta.url), 'utf8');
  return text.slice(3, text.indexOf('\n'));
}

/** @returns the five lines of a real run, which lie beside the example. */
export async function expectedLines(name: string): Promise<string[]> {
  const text = await readFile(new URL(`${name}.txt`, import.meta.url), 'utf8');
  return text.trimEnd().split('\n');
}

/** @returns segment and resource that a line of the report names, without its numbers. */
export function partIn(line: string): string {
  return line
    .slice(line.indexOf(':') + 1)
    .split(',')[0]!
    .trim();
}
