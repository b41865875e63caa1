import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadRules, RulesError } from '../../../analyzer/src/classify/rules.ts';

function failure(text: string): string {
  try {
    loadRules(text);
  } catch (error) {
    assert.ok(error instanceof RulesError);
    return error.message;
  }
  return 'no error';
}

test('a wrong rules file is refused with the line and what was expected', () => {
  const cases: [string, RegExp][] = [
    ['rules:\n  - name: a\n', /^line 2: a rule needs `segment`$/],
    ['rules:\n  - segment: pool_wait\n', /^line 2: .*at least one of `name`, `scope`, `attribute`$/],
    [
      'rules:\n  - name: a\n    segment: pool_weight\n',
      /^line 3: unknown segment `pool_weight`; .*pool_wait/,
    ],
    ['rules:\n  - name: a\n    segment: hold\n', /^line 3: unknown segment `hold`/],
    ['rules:\n  - name: a\n    segement: work\n', /^line 3: unknown key `segement`/],
    ['rules:\n  - name: [a]\n    segment: work\n', /^line 2: `name` must be a non-empty text$/],
    ['rules:\n  - name: 5\n    segment: work\n', /^line 2: `name` must be a non-empty text$/],
    ['rules:\n  - attribute: {a: [1]}\n    segment: work\n', /^line 2: `attribute` values must be/],
    ['rules:\n  - attribute: [a]\n    segment: work\n', /^line 2: `attribute` must be a mapping/],
    ['rules:\n  - plain\n', /^line 2: a rule must be a mapping/],
    ['rules: none\n', /^line 1: expected a list under `rules:`$/],
    ['', /^line 1: expected a list/],
    ['rules:\n  - name: "a\n', /^line \d+: /],
    ['rules:\n  - name: a\n    name: b\n    segment: work\n', /^line 3: /],
  ];
  for (const [text, expected] of cases) assert.match(failure(text), expected);
});

test('a list without `rules:` around it, and an attribute by its key alone', () => {
  const { rules } = loadRules(
    '- attribute: queue.time\n  segment: admission_wait\n  resource: http.server\n',
  );
  assert.equal(rules.length, 1);
  assert.equal(rules[0].segment, 'admission_wait');
  assert.equal(rules[0].attributes[0][0], 'queue.time');
});

test('an empty list is a valid file', () => {
  assert.deepEqual(loadRules('rules: []\n').rules, []);
});
