import assert from 'node:assert/strict';
import { test } from 'node:test';
import { difference } from './alike.ts';

test('numbers may drift a little, words and their order may not', () => {
  const shown = 'lock:stock  1  100 %  14.4 ms\n  knee at 69.5/s ███▉\n';
  assert.equal(difference(shown, shown), null);
  assert.equal(difference(shown, 'lock:stock 1   98 %   15.9 ms\n knee at 71/s   ██\n'), null);
  assert.match(difference(shown, 'lock:stock 1 98 % 25 ms\n knee at 71/s ██\n') ?? '', /14\.4 is now 25/);
  assert.match(difference(shown, shown.replace('lock', 'pool')) ?? '', /line 1: 'lock:stock/);
  assert.match(difference(shown, shown.replace('ms', 's')) ?? '', /line 1/);
  assert.match(difference(shown, `${shown}one more\n`) ?? '', /line 3: 'undefined' is now 'one more'/);
});

test('ids and drawings are not compared, hardly anything is hardly anything', () => {
  assert.equal(difference('trace 6e151e03 0.2 ms ⠀⡇⠀', 'trace d92d0c28 0.9 ms ⡠⠤⠔⠒'), null);
  assert.equal(difference('30 ms kept', '900 µs kept', Number.POSITIVE_INFINITY), null);
  assert.equal(difference('12 of 600', '500 of 8', Number.POSITIVE_INFINITY), null);
});
