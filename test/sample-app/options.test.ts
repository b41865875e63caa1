import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readOptions } from '../../sample-app/src/case-study/options.ts';
import { UsageError } from '../../sample-app/src/run/command.ts';

test('without options: before and after, once, with the long load', () => {
  const options = readOptions([])!;
  assert.deepEqual(options.variants, ['before', 'after']);
  assert.equal(options.repeat, 1);
  assert.equal(options.soak, null);
  assert.match(options.manifestPath, /case-study\.yaml$/);
});

test('the short form has its own load, a soak its own variant, all means all', () => {
  assert.match(readOptions(['--quick'])!.manifestPath, /quick\.yaml$/);
  assert.deepEqual(readOptions(['--soak', '30'])!.variants, ['after']);
  assert.deepEqual(readOptions(['--soak', '0.5', '--rate', '60'])!.soak, {
    minutes: 0.5,
    arrivalsPerSecond: 60,
  });
  assert.equal(readOptions(['--variants', 'all'])!.variants.length, 8);
  assert.equal(readOptions(['--help']), null);
});

for (const [args, problem] of [
  [['--fast'], /--fast/],
  [['--variants', 'before,behind'], /unknown variant "behind"; there are: before, /],
  [['--repeat', 'x'], /--repeat wants a whole number, not "x"/],
  [['--soak', '0'], /--soak wants a number above 0/],
  [['--registrations', '10'], /--registrations wants at least 100000/],
] as const) {
  test(`${args.join(' ')}: says what is wrong`, () => {
    assert.throws(
      () => readOptions([...args]),
      (error) => error instanceof UsageError && problem.test(error.message),
    );
  });
}
