import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { againstDirection, circles, importsOf, type Layers, type Sources } from './layers.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources: Sources = new Map(
  globSync('{analyzer,instrumentation,sample-app}/src/**/*.{ts,tsx}', { cwd: root }).map((file) => [
    file.replaceAll('\\', '/'),
    readFileSync(join(root, file), 'utf8'),
  ]),
);

const ANALYZER: Layers = {
  base: 'analyzer/src',
  layers: [
    ['model'],
    ['read'],
    ['tree'],
    ['partition'],
    ['classify'],
    ['aggregate'],
    ['infer'],
    ['report'],
    ['tui'],
    ['cli'],
    ['index.ts'],
  ],
  typesToo: true,
};

const INSTRUMENTATION: Layers = {
  base: 'instrumentation/src',
  layers: [
    ['conventions.ts'],
    ['core'],
    // Parts: each records one kind of queue, or takes spans somewhere.
    [
      'adapters',
      'admission',
      'export',
      'generic.ts',
      'http',
      'metrics',
      'outbound',
      'part-settings.ts',
      'pg',
      'profile',
      'recorder',
      'runtime',
      'settings.ts',
      'standalone',
    ],
    ['parts.ts'],
    ['instrumentation.ts'],
    // Where a process starts recording.
    ['standalone/start.ts', 'register'],
    ['register.ts', 'index.ts'],
  ],
  typesToo: false,
};

const SAMPLE_APP: Layers = {
  base: 'sample-app/src',
  layers: [
    ['machine', 'postgres', 'link', 'service', 'run'],
    ['load', 'worker'],
    ['case-study', 'labs'],
  ],
  typesToo: false,
};

test('imports run one way: model to cli, conventions to register, service to case study', () => {
  for (const layers of [ANALYZER, INSTRUMENTATION, SAMPLE_APP]) {
    assert.deepEqual(againstDirection(sources, layers), [], layers.base);
  }
});

test('no file imports itself by way of others', () => {
  assert.deepEqual(circles(sources), []);
});

test('packages know each other by their public names only, and the analyzer takes nothing but names', () => {
  const wrong: string[] = [];
  for (const [file, text] of sources) {
    for (const { target } of importsOf(text)) {
      const fromAnalyzer = file.startsWith('analyzer/');
      if (
        fromAnalyzer &&
        target.startsWith('@waitfall/') &&
        target !== '@waitfall/instrumentation/conventions'
      ) {
        wrong.push(`${file} -> ${target}`);
      }
      // The command must never install the SDK.
      if (fromAnalyzer && target.startsWith('@opentelemetry/')) wrong.push(`${file} -> ${target}`);
      if (file.startsWith('instrumentation/') && target === 'waitfall') wrong.push(`${file} -> ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('the service under test does not know its load', () => {
  const service = new Map([...sources].filter(([file]) => /^sample-app\/src\/(service|worker)\//.test(file)));
  assert.ok(service.size > 5);
  for (const [file, text] of service) {
    for (const { target } of importsOf(text)) assert.doesNotMatch(target, /\/(load|case-study|labs)\//, file);
  }
});

test('conventions imports nothing', () => {
  assert.deepEqual(importsOf(sources.get('instrumentation/src/conventions.ts') as string), []);
});

test('drawing and computing stay apart: nothing before the terminal UI knows of Ink', () => {
  const drawing = [...sources].filter(([, text]) =>
    importsOf(text).some(({ target }) => target === 'ink' || target === 'react'),
  );
  assert.ok(drawing.length > 0);
  for (const [file] of drawing) assert.match(file, /^analyzer\/src\/tui\//);
});

test('a planted violation is found, each by its kind', () => {
  const planted = (extra: Readonly<Record<string, string>>): Sources =>
    new Map([...sources, ...Object.entries(extra)]);
  const backwards = planted({
    'analyzer/src/model/planted.ts': "import { infer } from '../infer/index.ts';\n",
  });
  assert.deepEqual(againstDirection(backwards, ANALYZER), [
    'analyzer/src/model/planted.ts -> ../infer/index.ts',
  ]);
  const dynamic = planted({
    'analyzer/src/read/planted.ts': "const ui = await import('../tui/index.tsx');\n",
  });
  assert.deepEqual(againstDirection(dynamic, ANALYZER), ['analyzer/src/read/planted.ts -> ../tui/index.tsx']);
  const types = "import type { Settings } from '../settings.ts';\n";
  assert.deepEqual(
    againstDirection(planted({ 'instrumentation/src/core/planted.ts': types }), INSTRUMENTATION),
    [],
  );
  const values = planted({ 'instrumentation/src/core/planted.ts': types.replace('type ', '') });
  assert.deepEqual(againstDirection(values, INSTRUMENTATION), [
    'instrumentation/src/core/planted.ts -> ../settings.ts',
  ]);
  assert.deepEqual(againstDirection(planted({ 'sample-app/src/elsewhere/planted.ts': '' }), SAMPLE_APP), [
    'sample-app/src/elsewhere/planted.ts is in no layer',
  ]);
  const outside = planted({
    'sample-app/src/labs/planted.ts': "export * from '../../../analyzer/src/index.ts';\n",
  });
  assert.deepEqual(againstDirection(outside, SAMPLE_APP), [
    'sample-app/src/labs/planted.ts -> ../../../analyzer/src/index.ts leaves the package',
  ]);
  const circle = planted({
    'analyzer/src/model/a.ts': "import {\n  b,\n} from './b.ts';\n",
    'analyzer/src/model/b.ts': "import './a.ts';\n",
  });
  assert.deepEqual(circles(circle), [
    'analyzer/src/model/a.ts -> analyzer/src/model/b.ts -> analyzer/src/model/a.ts',
  ]);
});
