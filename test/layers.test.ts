import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Folders in the order data flows: a file may import from its own folder and from those before it. */
const ANALYZER = [
  'model',
  'read',
  'tree',
  'partition',
  'classify',
  'aggregate',
  'infer',
  'report',
  'tui',
  'cli',
];

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1]);
}

test('imports in the analyzer run one way', () => {
  const wrong: string[] = [];
  for (const file of globSync('analyzer/src/**/*.{ts,tsx}', { cwd: root })) {
    const own = ANALYZER.indexOf(file.split(sep)[2]);
    for (const target of importsOf(file)) {
      if (target.startsWith('@waitfall/') && target !== '@waitfall/instrumentation/conventions') {
        wrong.push(`${file} -> ${target}`);
      }
      if (!target.startsWith('.') || own < 0) continue;
      const folder = normalize(join(dirname(file), target)).split(sep)[2];
      if (ANALYZER.indexOf(folder) > own) wrong.push(`${file} -> ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('conventions imports nothing', () => {
  assert.deepEqual(importsOf(join('instrumentation', 'src', 'conventions.ts')), []);
});
